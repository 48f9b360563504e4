//go:build unix

package hermes_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
)

func TestOpenErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(o *hermes.Options)
		kind   hermes.ErrorKind
		parts  []string
	}{
		{"an unknown backend", func(o *hermes.Options) { o.Settings.Backend = "moon" }, hermes.KindUsage, []string{"moon", "local"}},
		{"a missing directory that was asked for", func(o *hermes.Options) { o.Settings.Cwd = "/no/such" }, hermes.KindUsage, []string{"/no/such"}},
		{"a missing interpreter", func(o *hermes.Options) { o.Settings.Python = "/no/such/python3" }, hermes.KindPython, []string{"/no/such/python3"}},
		{"an interpreter that is none", func(o *hermes.Options) { o.Settings.Python = "/bin/false" }, hermes.KindPython, []string{"/bin/false"}},
		{"no interpreter at all", func(o *hermes.Options) {
			o.Settings.Python = ""
			o.Environ["PATH"] = "/no/such"
		}, hermes.KindPython, []string{"install"}},
		{"an unknown transport", func(o *hermes.Options) { o.Settings.Transport = "pigeon" }, hermes.KindTransport, []string{"pigeon"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, "local")
			tt.change(&o)
			_, err := hermes.Open(t.Context(), o)
			if err == nil {
				t.Fatal("no error")
			}
			r := hermes.Failed(err)
			if r.ErrorKind != tt.kind || r.Status != hermes.Failure {
				t.Errorf("kind %s: %s", r.ErrorKind, r.Error)
			}
			for _, part := range tt.parts {
				if !strings.Contains(r.Error, part) {
					t.Errorf("error %q lacks %q", r.Error, part)
				}
			}
		})
	}
}

// Which interpreter runs does not depend on the time of the caller: one that has not started in it is
// named, and no other is taken.
func TestSlowInterpreter(t *testing.T) {
	o := options(t, "local")
	o.Settings.Python, o.Settings.Timeout = "", time.Second
	slow := t.TempDir()
	if err := os.WriteFile(filepath.Join(slow, "python3"), []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	o.Environ["PATH"] = slow + ":" + o.Environ["PATH"]
	s := newSessions(t)
	_, err := hermes.Open(t.Context(), o)
	for name, r := range map[string]*hermes.Result{
		"open": hermes.Failed(err),
		"cell": s.Run(t.Context(), "s", o, hermes.Script{Code: []byte("1")}, false),
	} {
		if r.Status != hermes.Timeout || !strings.Contains(r.Error, slow+"/python3") {
			t.Errorf("%s: %s %s: %s", name, r.Status, r.ErrorKind, r.Error)
		}
	}
}

func TestDirectories(t *testing.T) {
	there := t.TempDir()
	for _, tt := range []struct {
		name    string
		change  func(s *config.Settings)
		want    string // "" is the caller's
		warning string
	}{
		{"P92 the caller's", func(*config.Settings) {}, "", ""},
		{"the flag's", func(s *config.Settings) { s.Cwd = there }, there, ""},
		{"P93 the first that exists", func(s *config.Settings) {
			s.CwdFallbacks = []config.Dir{{Path: there, Origin: "environment TERMINAL_CWD"}, {Path: "/", Origin: "file"}}
		}, there, ""},
		{"P94 a missing one is passed over", func(s *config.Settings) {
			s.CwdFallbacks = []config.Dir{{Path: "/no/such", Origin: "environment TERMINAL_CWD"}}
		}, "", "/no/such (environment TERMINAL_CWD)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, "local")
			tt.change(&o.Settings)
			if tt.want == "" {
				tt.want = o.Dir
			}
			r := open(t, o).Run(t.Context(), hermes.Script{Code: []byte("import os; print(os.getcwd())")})
			if r.Output != tt.want+"\n" || !strings.Contains(r.Warning, tt.warning) || tt.warning == "" && r.Warning != "" {
				t.Errorf("in %q, want %q; warning %q", r.Output, tt.want, r.Warning)
			}
		})
	}
}

func TestFile(t *testing.T) {
	const show = "import sys, os, helper\nprint(helper.x, os.path.basename(__file__), sys.argv[1:])"
	write := func(t *testing.T, dir string, files map[string]string) {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("here it runs in place", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, map[string]string{"job.py": show, "helper.py": "x = 7"})
		r := open(t, options(t, "local")).Run(t.Context(), hermes.Script{File: filepath.Join(dir, "job.py"), Args: []string{"a"}})
		if r.Output != "7 job.py ['a']\n" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a relative name is the caller's", func(t *testing.T) {
		o := options(t, "local")
		write(t, o.Dir, map[string]string{"job.py": "print(1)"})
		o.Settings.Cwd = t.TempDir()
		if r := open(t, o).Run(t.Context(), hermes.Script{File: "job.py"}); r.Output != "1\n" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("elsewhere it is sent alone", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, map[string]string{"job.py": show, "helper.py": "x = 7"})
		r := open(t, options(t, "pipe")).Run(t.Context(), hermes.Script{File: filepath.Join(dir, "job.py")})
		if r.Status != hermes.Failure || !strings.Contains(r.Hint, "Only job.py itself was sent") {
			t.Errorf("%+v", r)
		}
	})
	for name, text := range map[string]string{"missing": "", "empty": "", "a directory": ""} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "local")
			file := map[string]string{"missing": "no such.py", "empty": "empty.py", "a directory": "."}[name]
			write(t, o.Dir, map[string]string{"empty.py": text})
			r := open(t, o).Run(t.Context(), hermes.Script{File: file})
			if r.ErrorKind != hermes.KindUsage || r.ExitStatus() != 2 || r.Error == "" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// noSockets is a backend in which a network cannot be listened on.
type noSockets struct {
	backend.Backend
	networks string
}

func (b noSockets) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	if strings.Contains(b.networks, network) {
		return nil, fmt.Errorf("listen %s: %w", network, errors.ErrUnsupported)
	}
	return b.Backend.Listen(ctx, network, address)
}

func TestFallback(t *testing.T) {
	for _, tt := range []struct{ name, lacks, want, fallback string }{
		{"local", "", "uds", "[]"},
		{"local", "unix", "tcp", "[{uds tcp}]"},
		{"local", "unix tcp", "file", "[{uds tcp} {tcp file}]"},
		{"pipe", "unix", "file", "[{uds file}]"},
	} {
		t.Run(tt.name+" without "+tt.lacks, func(t *testing.T) {
			o := options(t, tt.name)
			opener := o.Openers[tt.name]
			o.Openers[tt.name] = func(ctx context.Context, u *url.URL) (backend.Backend, error) {
				b, err := opener(ctx, u)
				return noSockets{b, tt.lacks}, err
			}
			e := open(t, o)
			for range 2 { // the second run tries nothing again, and still tells
				r := e.Run(t.Context(), hermes.Script{Code: []byte("from hermes_tools import terminal\nprint(terminal('echo hi')['output'], end='')")})
				taken := []string{}
				for _, f := range r.Fallback {
					taken = append(taken, "{"+f.From+" "+f.To+"}")
					if !strings.Contains(f.Reason, "unsupported") {
						t.Errorf("reason %q", f.Reason)
					}
				}
				if string(r.Transport) != tt.want || fmt.Sprint(taken) != tt.fallback || r.Output != "hi\n" {
					t.Errorf("transport %s, fallback %v, output %q", r.Transport, taken, r.Output)
				}
			}
			for _, a := range e.Transports(t.Context()) {
				network := map[string]string{"uds": "unix", "tcp": "tcp", "file": "none"}[a.Transport]
				if (a.Err != nil) != strings.Contains(tt.lacks, network) {
					t.Errorf("%s: %v", a.Transport, a.Err)
				}
			}
		})
	}
}

func TestFallbackIsNotForTransportsAskedFor(t *testing.T) {
	o := options(t, "local")
	opener := o.Openers["local"]
	o.Openers["local"] = func(ctx context.Context, u *url.URL) (backend.Backend, error) {
		b, err := opener(ctx, u)
		return noSockets{b, "unix"}, err
	}
	o.Settings.Transport = "uds"
	_, err := hermes.Open(t.Context(), o)
	if r := hermes.Failed(err); r.ErrorKind != hermes.KindTransport {
		t.Errorf("%v", err)
	}
}

func TestLongTemporaryDirectory(t *testing.T) {
	o := options(t, "local")
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Environ["TMPDIR"] = long
	r := open(t, o).Run(t.Context(), hermes.Script{Code: []byte("from hermes_tools import terminal\nprint(terminal('echo hi')['output'], end='')")})
	if r.Output != "hi\n" || r.Transport != "uds" {
		t.Errorf("B122: %+v", r)
	}
}

func TestHomeThatCannotBeWritten(t *testing.T) {
	o := options(t, "local")
	delete(o.Environ, "HOME")
	r := open(t, o).Run(t.Context(), hermes.Script{Code: []byte("import os; open(os.path.expanduser('~/x'), 'w').write('1'); print('ok')")})
	if r.Output != "ok\n" {
		t.Errorf("%+v", r)
	}
}

func TestNothingIsLeft(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		temp := t.TempDir()
		o.Environ["TMPDIR"] = temp
		e, err := hermes.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		e.Run(t.Context(), hermes.Script{Code: []byte("print(1)")})
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(temp)
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}
