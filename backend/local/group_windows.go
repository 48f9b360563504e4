package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/hermes-exec/hermes-exec/backend"
)

// group is a job object: all that its processes start is in it and cannot leave it, and it ends with
// its last handle, which is ours. So whatever ends hermes-exec ends its scripts.
//
// The first process is also the first of a console group, to which alone a break can be sent: it
// shares the console of hermes-exec, if that has one, but not its Ctrl-C.
type group struct {
	mu   sync.Mutex
	job  windows.Handle // 0: released
	pid  uint32         // of the first process
	sent backend.Signal // last, other than Kill
}

func newGroup(cmd *exec.Cmd) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create a job object: %w", err)
	}
	limit := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limit.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limit)), uint32(unsafe.Sizeof(limit)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("limit a job object: %w", err), windows.CloseHandle(job))
	}
	// Suspended until it is in the job: what it starts before that would be outside.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: !hasConsole(),
	}
	return &group{job: job}, nil
}

// hasConsole tells whether there is a console to inherit. A process that inherits none gets one of its
// own, with a window that nobody has asked for.
func hasConsole() bool {
	_, err := windows.GetConsoleCP()
	return err == nil
}

// adopt puts the first process into the job and lets it go.
func (g *group) adopt(p *os.Process) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pid = uint32(p.Pid)
	var assigned error
	err := p.WithHandle(func(handle uintptr) { assigned = windows.AssignProcessToJobObject(g.job, windows.Handle(handle)) })
	if err = errors.Join(err, assigned); err != nil {
		return fmt.Errorf("assign it to its job object: %w", err)
	}
	return resume(g.pid)
}

// resume resumes the threads of a process that was started suspended: there is one.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	resumed := 0
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("open its thread: %w", err)
		}
		_, err = windows.ResumeThread(thread)
		if err = errors.Join(err, windows.CloseHandle(thread)); err != nil {
			return fmt.Errorf("resume it: %w", err)
		}
		resumed++
	}
	if resumed == 0 {
		return fmt.Errorf("resume it: no thread was found: %w", err)
	}
	return nil
}

// send kills the job, or sends what comes closest to a polite signal: the break of a console. Python
// ends by it unless the script handles SIGBREAK. Without a console there is nothing to be handled, and so
// it is done what happens to who does not: all end, with the same status.
func (g *group) send(sig backend.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.job == 0:
		return nil
	case sig == backend.Kill:
		return windows.TerminateJobObject(g.job, winKilled)
	case sig != backend.Interrupt && sig != backend.Terminate:
		return fmt.Errorf("%w: Windows has no such signal", errors.ErrUnsupported)
	}
	if active(g.job) == 0 {
		return nil
	}
	g.sent = sig
	if windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.pid) == nil {
		return nil
	}
	return windows.TerminateJobObject(g.job, winControlC)
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	totalUserTime, totalKernelTime           int64
	thisPeriodUserTime, thisPeriodKernelTime int64
	totalPageFaults, totalProcesses          uint32
	activeProcesses, totalTerminated         uint32
}

// active is how many processes of a job live.
func active(job windows.Handle) uint32 {
	var a accounting
	err := windows.QueryInformationJobObject(job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	if err != nil {
		return 0 // the handle is ours and open: it does not happen, and a wait must end
	}
	return a.activeProcesses
}

func (g *group) empty() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.job == 0 || active(g.job) == 0
}

// processList is JOBOBJECT_BASIC_PROCESS_ID_LIST, with room for some.
type processList struct {
	assigned, listed uint32
	ids              [64]uintptr
}

// members names what is left, as "pid name".
func (g *group) members() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list processList
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return []string{"? (processes of a job object)"}
	}
	var names []string
	for _, id := range list.ids[:list.listed] {
		names = append(names, fmt.Sprintf("%d %s", id, image(uint32(id))))
	}
	return names
}

// image is the name of a process's program.
func image(pid uint32) string {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return "?"
	}
	defer func() { _ = windows.CloseHandle(process) }()
	name := make([]uint16, windows.MAX_LONG_PATH)
	size := uint32(len(name))
	if err := windows.QueryFullProcessImageName(process, 0, &name[0], &size); err != nil {
		return "?"
	}
	return filepath.Base(windows.UTF16ToString(name[:size]))
}

// release closes the job, which ends what is left in it.
func (g *group) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}

// fate is how the first process ended.
func (g *group) fate(state *os.ProcessState) error {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok {
		return backend.ErrNoExitStatus
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return winFate(status.ExitCode, g.sent)
}

// notExecutable tells whether an error of a start says that a file is no program.
func notExecutable(err error) bool {
	for _, code := range []error{windows.ERROR_BAD_EXE_FORMAT, windows.ERROR_EXE_MACHINE_TYPE_MISMATCH, windows.ERROR_ACCESS_DENIED} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
