package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
)

// remoteError is an error of the guest's operating system. An errno travels by name, because
// systems number it differently.
type remoteError struct {
	op, errno, message string
}

func failure(payload []byte) error {
	f, err := fields.Parse(payload)
	if err != nil {
		return err
	}
	if f.Int("oom") == 1 {
		killed := &backend.ExitError{Code: -int(backend.Kill), Signal: backend.Kill, OOMKilled: true}
		return fmt.Errorf("before it began: %w", killed)
	}
	return &remoteError{op: f.Text("op"), errno: f.Text("errno"), message: f.Text("message")}
}

// Printed is the last line of what was printed in place of a greeting, "" if nothing was.
func Printed(err error) string {
	_, said, _ := strings.Cut(err.Error(), ErrNoGreeting.Error()+": ")
	return said
}

func (e *remoteError) Error() string {
	if e.message == "" {
		return e.errno
	}
	return e.message
}

// Is maps names of errors to the sentinels that callers test for.
func (e *remoteError) Is(target error) bool {
	switch e.errno {
	case "ENOENT", "ENOTDIR":
		return target == fs.ErrNotExist
	case "EACCES", "EPERM", "EROFS":
		return target == fs.ErrPermission || e.op == "exec" && target == backend.ErrNotExecutable
	case "ENOEXEC", "EISDIR", "ELOOP":
		return target == fs.ErrInvalid || e.op == "exec" && target == backend.ErrNotExecutable
	case "EINVAL":
		return target == fs.ErrInvalid
	case "EEXIST":
		return target == fs.ErrExist
	case "EAFNOSUPPORT":
		return target == errors.ErrUnsupported
	case "EAGAIN":
		return target == syscall.EAGAIN
	case "EMFILE":
		return target == syscall.EMFILE
	case "ENFILE":
		return target == syscall.ENFILE
	case "ENOMEM":
		return target == syscall.ENOMEM
	}
	return false
}
