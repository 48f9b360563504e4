// Package terse shortens what the standard library says of connections that fail.
package terse

import (
	"errors"
	"net"
	"os"
	"strings"
)

// Dial takes off what net says of a dial and everybody knows who is told of the host: the verb, and the
// address, where the host is called by it. Other errors stay as they are.
func Dial(err error, host string) error {
	dial, ok := errors.AsType[*net.OpError](err)
	if !ok || dial.Error() != err.Error() || dial.Addr != nil && !strings.HasSuffix(host, dial.Addr.String()) {
		return err
	}
	if call, ok := errors.AsType[*os.SyscallError](dial.Err); ok {
		return call.Err
	}
	return dial.Err
}
