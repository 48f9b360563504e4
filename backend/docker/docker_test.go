package docker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
)

// endedLink is that of an agent that has ended, with that status.
type endedLink struct {
	link
	status int
}

func (l endedLink) exitStatus(context.Context) int { return l.status }

// An interpreter is to blame for what ended by itself, and not for what somebody has ended.
func TestUnfit(t *testing.T) {
	silent := fmt.Errorf("start the guest agent: %w", guest.ErrNoGreeting)
	said := fmt.Errorf("%w: %s", silent, "I am no Python")
	for name, test := range map[string]struct {
		err    error
		status int
		want   bool
	}{
		"it ended":                           {silent, 1, true},
		"it crashed":                         {silent, 139, true},
		"it is not there":                    {said, 127, true},
		"it did something else":              {said, 0, true},
		"its connection was lost":            {silent, 0, false},
		"nobody knows":                       {said, -1, false},
		"it was killed":                      {said, 137, false},
		"it was stopped":                     {silent, 143, false},
		"it waited in vain":                  {silent, 142, false},
		"there are too many processes":       {backend.Shortage(silent, "fork: Resource temporarily unavailable"), 1, false},
		"it refused for a reason of its own": {&guest.RefusedError{Reason: "Python 3.7.0 is older than 3.8"}, 96, true},
		"it refused for another":             {&guest.RefusedError{Reason: "no writable temporary directory"}, 96, false},
		"it broke the protocol":              {fmt.Errorf("it speaks version 9"), 1, false},
	} {
		if got := unfit(t.Context(), test.err, endedLink{status: test.status}); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Who cannot use an engine, or gets no container of it, is told what to do.
func TestAdvice(t *testing.T) {
	e := &engine{host: "unix:///run/docker.sock"}
	refused := func(words string) error { return advised(errors.New("Error response from daemon: " + words)) }
	for want, err := range map[string]error{
		"DOCKER_HOST":             e.unreached(&fs.PathError{Op: "dial", Path: "/run/docker.sock", Err: fs.ErrNotExist}),
		"join the group":          e.unreached(&fs.PathError{Op: "dial", Path: "/run/docker.sock", Err: fs.ErrPermission}),
		"ca.pem":                  e.unreached(&tls.CertificateVerificationError{Err: errors.New("signed by nobody")}),
		"check the name":          e.unreached(backend.Advise(errors.New("no such host"), "check the name")),
		"mount another: --volume": refused(`invalid mount config for type "bind": bind source path does not exist: /x`),
		"NAME[:TAG]":              refused("invalid reference format: repository name must be lowercase"),
		"a number: --user":        refused("unable to find user me: no matching entries in passwd file"),
		"docker network ls":       refused("network far not found"),
	} {
		advice, ok := errors.AsType[*backend.AdviceError](err)
		if !ok || !strings.Contains(advice.Next, want) || !strings.Contains(err.Error(), advice.Next) {
			t.Errorf("%v: no advice about %s", err, want)
		}
	}
	if err := refused("something else"); errors.As(err, new(*backend.AdviceError)) {
		t.Errorf("%v: a guess", err)
	}
}
