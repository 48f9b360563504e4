package owner

import (
	"errors"
	"strconv"

	"golang.org/x/sys/windows"
)

// started is when a process started, in nanoseconds: it stays the same across the boots of a machine, so
// that those need not be told apart.
func started(pid int) string {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return unknown
	}
	defer func() { _ = windows.CloseHandle(process) }()
	var creation, exit, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(process, &creation, &exit, &kernel, &user); err != nil {
		return unknown
	}
	return strconv.FormatInt(creation.Nanoseconds(), 10)
}

func boot() string  { return unknown }
func space() string { return unknown }

// exists tells whether the identifier belongs to a process, of whomever, that has not ended: one that
// somebody holds a handle to stays after its end.
func exists(pid int) bool {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return !errors.Is(err, windows.ERROR_INVALID_PARAMETER) // else it may not be opened
	}
	defer func() { _ = windows.CloseHandle(process) }()
	event, err := windows.WaitForSingleObject(process, 0)
	return err != nil || event != windows.WAIT_OBJECT_0
}

const nonBlock = 0
