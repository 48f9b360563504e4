package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
)

// Text mode tells every error that the script itself has not told, and --quiet leaves out remarks only.
func TestTextTellsErrors(t *testing.T) {
	code := func(n int) *int { return &n }
	failed := func(kind hermes.ErrorKind, text string) hermes.Result {
		return hermes.Result{Status: hermes.Failure, ErrorKind: kind, Error: text}
	}
	ended := func(status hermes.Status, kind hermes.ErrorKind, exit *int) hermes.Result {
		return hermes.Result{Status: status, ErrorKind: kind, Error: "what happened", ExitCode: exit}
	}
	for name, test := range map[string]struct {
		result hermes.Result
		want   string // of stderr, before hints
	}{
		"success":                    {hermes.Result{Status: hermes.Success, ExitCode: code(0)}, ""},
		"an exception":               {ended(hermes.Failure, hermes.KindScript, code(1)), ""},
		"a status":                   {ended(hermes.Failure, hermes.KindScript, code(3)), ""},
		"a kernel that said no word": {ended(hermes.Failure, hermes.KindScript, nil), "what happened"},
		"a signal":                   {ended(hermes.Failure, hermes.KindSignal, code(-11)), "what happened"},
		"no memory":                  {ended(hermes.Failure, hermes.KindOOM, code(-9)), "what happened"},
		"timeout":                    {ended(hermes.Timeout, hermes.KindTimeout, code(-15)), "what happened"},
		"timeout of a kernel":        {ended(hermes.Timeout, hermes.KindTimeout, nil), "what happened"},
		"interrupted":                {ended(hermes.Interrupted, hermes.KindInterrupted, code(-2)), "what happened"},
		"no Python":                  {failed(hermes.KindPython, "what is missing"), "what is missing"},
		"backend":                    {failed(hermes.KindBackend, "one\ntwo"), "one\nhermes-exec: two"},
		"transport":                  {failed(hermes.KindTransport, "the script was lost"), "the script was lost"},
		"policy":                     {failed(hermes.KindPolicy, "others may write"), "others may write"},
		"usage":                      {failed(hermes.KindUsage, "unknown flag"), "unknown flag"},
		"Failed, the caller":         {*hermes.Failed(&config.ValueError{Key: "timeout", Origin: "flag --timeout", Err: errors.New("no time")}), "flag --timeout: no time"},
		"Failed, the backend":        {*hermes.Failed(fmt.Errorf("open: %w", backend.ErrNoPython)), "open: " + backend.ErrNoPython.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			errors := ""
			if test.want != "" {
				errors = "hermes-exec: " + test.want + "\n"
			}
			r := test.result
			r.Warning, r.Hint = "w1\nw2", "h"
			r.Fallback = []hermes.Fallback{{From: "kernel", To: "oneshot", Reason: "no room"}}
			for quiet, want := range map[bool]string{
				true: errors,
				false: "hermes-exec: fallback: oneshot instead of kernel: no room\n" +
					"hermes-exec: warning: w1\nhermes-exec: warning: w2\n" + errors + "hermes-exec: hint: h\n",
			} {
				var out, stderr bytes.Buffer
				a := &app{out: &outlet{w: &out}, err: &stderr}
				a.newSink(formatText, quiet).finish(&r)
				if stderr.String() != want || out.Len() > 0 {
					t.Errorf("quiet %v: stderr %q, want %q; stdout %q", quiet, stderr.String(), want, out.String())
				}
			}
		})
	}
}
