package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
)

// spin ends with its parent, and gets only what nobody else wants of a processor.
const spin = "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nparent = os.getppid()\n" +
	"print(1, flush=True)\nwhile os.getppid() == parent:\n for _ in range(1000000): pass" // not in the kernel, where it is slower to leave

// awake runs f on processors that do not sleep: one that has slept through a round trip takes up to a
// millisecond to wake, and each round trip wakes several programs.
func awake(f func() error) error {
	ctx, cancel := context.WithCancel(context.Background())
	var spinning []*exec.Cmd
	defer func() {
		cancel()
		for _, cmd := range spinning {
			_ = cmd.Wait() // it was killed
		}
	}()
	for range runtime.NumCPU() {
		cmd := exec.CommandContext(ctx, "python3", "-I", "-S", "-c", spin)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return fmt.Errorf("keep the processors awake: %w", err)
		}
		spinning = append(spinning, cmd)
		if _, err := out.Read(make([]byte, 1)); err != nil {
			return fmt.Errorf("keep the processors awake: %w", err)
		}
	}
	return f()
}
