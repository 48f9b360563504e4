// Package threads keeps a Go program alive where the system gives it no more threads.
//
// The Go runtime makes threads when it wants them and ends the whole program, with status 2, when it
// gets none: no code of the program's is asked, and nothing can be caught. So where there is a limit
// those that a program will need are made at its start, while there is room, and it is kept from
// needing more.
package threads

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"syscall"
)

const (
	// mostProcessors bounds how many threads run Go code at once. This program waits most of the time:
	// more make nothing faster, and the runtime wants a thread for each.
	mostProcessors = 8

	// blocked is how many threads beside those are made for calls that the system keeps waiting, such
	// as those of files and terminals.
	blocked = 8

	// fewest is how many threads the program cannot do without. They come before processes: without
	// those a run fails and says so.
	fewest = 5

	// children is what a run takes: the agent, a supervisor, the script.
	children = 3

	// unlimited is the room where no limit is known.
	unlimited = math.MaxInt
)

// Reserve makes the threads that the program will need and keeps them for it, where it sees a limit:
// without one they would cost every start half a millisecond. It takes no more than the limit leaves
// room for: where that is little, the program runs on fewer processors. A limit that it cannot see
// (another user namespace's, other programs that start at the same moment) may still end the program,
// then or later.
//
// The error says that there is no room for a run besides. It wraps syscall.EAGAIN.
func Reserve() error {
	free := room()
	processors, threads := plan(free, runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(processors)
	grow(threads)
	if free < fewest+children {
		return fmt.Errorf("a run takes %d more processes and threads, and there is room for %d: %w",
			fewest+children, max(0, free), syscall.EAGAIN)
	}
	return nil
}

// plan says on how many processors to run and how many threads to make where there is room for so
// many processes and threads.
func plan(room, processors int) (use, threads int) {
	spare := room - children
	use = max(1, min(processors, mostProcessors, spare/2))
	if room == unlimited {
		return use, 0
	}
	return use, min(use+blocked, max(spare, fewest), max(room, 0))
}

// grow has the runtime hold n threads more than are busy. It never gives one back.
func grow(n int) {
	var all, done sync.WaitGroup
	all.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread() // so that each of them needs one, until all have theirs
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		})
	}
	done.Wait()
}
