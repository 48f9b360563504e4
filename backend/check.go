package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Check refuses what no system can start.
func (c Cmd) Check() error {
	if len(c.Args) == 0 {
		return errors.New("no command")
	}
	for _, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			return fmt.Errorf("%w: an argument with a NUL byte", fs.ErrInvalid)
		}
	}
	for name, value := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("%w: variable %q", fs.ErrInvalid, name)
		}
	}
	return nil
}
