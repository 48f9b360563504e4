package backend_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
)

func TestExhausted(t *testing.T) {
	for errno, limit := range map[syscall.Errno]string{
		syscall.EAGAIN: "ulimit -u", syscall.EMFILE: "ulimit -n", syscall.ENFILE: "the system's limit", syscall.ENOMEM: "memory",
	} {
		cause := fmt.Errorf("start: %w", &fs.PathError{Op: "fork/exec", Path: "/usr/bin/python3", Err: errno})
		err := backend.Exhausted(cause)
		if !errors.Is(err, backend.ErrExhausted) || !errors.Is(err, cause) {
			t.Errorf("%v is not ErrExhausted with its cause", err)
		}
		if text := err.Error(); !strings.Contains(text, limit) || !strings.HasSuffix(text, cause.Error()) {
			t.Errorf("%q does not name %q and the cause", text, limit)
		}
	}
	for _, err := range []error{nil, os.ErrNotExist, syscall.EACCES, syscall.ENOEXEC, errors.New("resource temporarily unavailable")} {
		if got := backend.Exhausted(err); !errors.Is(got, err) || errors.Is(got, backend.ErrExhausted) {
			t.Errorf("%v became %v", err, got)
		}
	}
}
