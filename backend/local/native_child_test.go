package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// These tests need no Python: what they start is the test itself. So they run wherever Go does, and take
// to Windows what backendtest sees elsewhere.

// childName is the variable that makes a copy of the test a child, which does what its value says.
const childName = "HX_TEST_CHILD"

// TestChild is no test but the child.
func TestChild(t *testing.T) {
	switch mode := os.Getenv(childName); mode {
	case "":
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
		fmt.Fprint(os.Stderr, "apart")
		os.Exit(0)
	case "args":
		dir, _ := os.Getwd()
		fmt.Printf("%q\n%q\n", os.Args[2:], dir)
		os.Exit(0)
	case "env":
		fmt.Printf("%q\n", slices.Sorted(slices.Values(os.Environ())))
		os.Exit(0)
	case "crash":
		var nowhere *int
		*nowhere = 1 // an access violation, which Go makes a panic and status 2
	case "sleep":
		fmt.Println("ready")
		<-time.After(10 * time.Minute)
	case "parent", "leave": // a child that holds the streams too
		child := exec.Command(os.Args[0], "-test.run=^TestChild$")
		child.Env = append(os.Environ(), childName+"=sleep")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("child", child.Process.Pid)
		if mode == "parent" {
			<-time.After(10 * time.Minute)
		}
		os.Exit(0)
	case "host": // a hermes-exec that will be killed
		n, err := newNative(Config{Dir: ".", Env: inherited(runtime.GOOS, testenv.Environ())})
		if err == nil {
			cmd := child(n, "parent")
			cmd.Stdout = os.Stdout
			_, err = n.Start(t.Context(), cmd)
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		select {}
	default:
		status, _ := strconv.Atoi(mode)
		os.Exit(status)
	}
}

// openBare opens an environment without an interpreter.
func openBare(t *testing.T) *Native {
	t.Helper()
	n, err := newNative(Config{Dir: t.TempDir(), Env: inherited(runtime.GOOS, testenv.Environ())})
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, n)
	return n
}

// child is a command that does what mode says.
func child(n *Native, mode string, args ...string) backend.Cmd {
	env := map[string]string{childName: mode}
	for _, name := range []string{"PATH", "SYSTEMROOT", "TEMP", "TMP"} {
		if value := n.info.Env[name]; value != "" {
			env[name] = value
		}
	}
	return backend.Cmd{Args: append([]string{os.Args[0], "-test.run=^TestChild$"}, args...), Env: env}
}

func TestNativeExit(t *testing.T) {
	n := openBare(t)
	for _, status := range []int{0, 1, 2, 42, 255, 256, 257} {
		_, err := backend.Run(t.Context(), n, child(n, strconv.Itoa(status)), nil)
		exit := (*backend.ExitError)(nil)
		switch {
		case status&255 == 0 && err != nil, status&255 != 0 && (!errors.As(err, &exit) || *exit != backend.ExitError{Code: status & 255}):
			t.Errorf("status %d is %v", status, err)
		}
	}
}

func TestNativeStreams(t *testing.T) {
	n := openBare(t)
	data := strings.Repeat("0123456789\n", 100_000)
	for _, stdin := range []io.Reader{strings.NewReader(data), nil} {
		var stdout, stderr bytes.Buffer
		cmd := child(n, "echo")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
		p, err := backend.Run(t.Context(), n, cmd, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := data
		if stdin == nil {
			want = ""
		}
		if stdout.String() != want || stderr.String() != "apart" {
			t.Errorf("%d bytes on stdout, stderr %q", stdout.Len(), &stderr)
		}
		if out, errs := p.Output(); out != (backend.Counts{Total: int64(len(want))}) || errs != (backend.Counts{Total: 5}) {
			t.Errorf("counts %+v %+v", out, errs)
		}
	}
}

func TestNativeArguments(t *testing.T) {
	n := openBare(t)
	dir := filepath.Join(t.TempDir(), "a dir é")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"", " ", `"`, `'`, `\`, `a\"b`, `c:\dir\`, "%PATH%", "$HOME", "^&|<>", "a\nb", "日本"}
	cmd := child(n, "args", args...)
	cmd.Dir = filepath.ToSlash(dir)
	var out bytes.Buffer
	cmd.Stdout = &out
	if _, err := backend.Run(t.Context(), n, cmd, nil); err != nil {
		t.Fatal(err)
	}
	dir, _ = filepath.EvalSymlinks(dir)
	if want := fmt.Sprintf("%q\n%q\n", args, dir); out.String() != want {
		t.Errorf("got  %s\nwant %s", &out, want)
	}
}

// TestNativeEnvironment: a process gets what it is given, and on Windows SYSTEMROOT.
func TestNativeEnvironment(t *testing.T) {
	t.Setenv("HX_TEST_INHERITED", "x")
	n := openBare(t)
	cmd := child(n, "env")
	var out bytes.Buffer
	cmd.Stdout = &out
	if _, err := backend.Run(t.Context(), n, cmd, nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "HX_TEST_INHERITED") || !strings.Contains(out.String(), childName+"=env") {
		t.Errorf("got %s", &out)
	}
}

func TestNativeRefuses(t *testing.T) {
	n := openBare(t)
	plain := filepath.Join(n.info.Scratch, "plain.txt")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := child(n, "0")
	missing.Dir = n.info.Scratch + "/missing"
	control := child(n, "0")
	control.Control = struct{ io.ReadWriteCloser }{}
	for _, tt := range []struct {
		name string
		cmd  backend.Cmd
		want error
	}{
		{"a name", backend.Cmd{Args: []string{"hx-no-such-program"}, Env: n.info.Env}, fs.ErrNotExist},
		{"a path", backend.Cmd{Args: []string{n.info.Scratch + "/nothing"}, Env: n.info.Env}, fs.ErrNotExist},
		{"a text", backend.Cmd{Args: []string{plain}, Env: n.info.Env}, backend.ErrNotExecutable},
		{"a directory", missing, fs.ErrNotExist},
		{"a control stream", control, errors.ErrUnsupported},
	} {
		if _, err := n.Start(t.Context(), tt.cmd); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	if _, err := n.Listen(t.Context(), "unix", ""); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a Unix socket: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if _, err := n.Start(t.Context(), child(n, "0")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := os.Stat(n.info.Scratch); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the scratch stays: %v", err)
	}
}

// TestNativeTree: a child of the process ends with it, with a kill, or with Close, although it holds the
// streams (B033).
func TestNativeTree(t *testing.T) {
	kill := func(t *testing.T, _ *Native, p backend.Process) error {
		t.Helper()
		return p.Signal(t.Context(), backend.Kill)
	}
	closing := func(t *testing.T, n *Native, _ backend.Process) error { t.Helper(); return n.Close() }
	for name, tt := range map[string]struct {
		mode   string
		linger bool
		end    func(t *testing.T, n *Native, p backend.Process) error // nil: it ends by itself
	}{
		"with its process":     {mode: "leave"},
		"by a kill":            {mode: "parent", end: kill},
		"by Close":             {mode: "parent", end: closing},
		"lingering, by a kill": {mode: "leave", linger: true, end: kill},
		"lingering, by Close":  {mode: "leave", linger: true, end: closing},
	} {
		t.Run(name, func(t *testing.T) {
			n := openBare(t)
			out := &waited{}
			cmd := child(n, tt.mode)
			cmd.Stdout, cmd.Linger = out, tt.linger
			p, err := n.Start(t.Context(), cmd)
			if err != nil {
				t.Fatal(err)
			}
			if tt.mode == "parent" {
				testenv.Eventually(t, "the child runs", func() bool { return strings.Contains(out.String(), "ready") })
			} else if err := p.Wait(t.Context()); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			pid := 0
			if _, err := fmt.Sscanf(out.String(), "child %d", &pid); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if tt.linger && !alive(pid) {
				t.Error("it does not linger")
			}
			if tt.end != nil {
				if err := tt.end(t, n, p); err != nil {
					t.Error(err)
				}
			}
			<-p.Ended()
			testenv.Eventually(t, "the child is gone", func() bool { return !alive(pid) })
			exit := (*backend.ExitError)(nil)
			if err := p.Wait(t.Context()); tt.mode == "parent" && (!errors.As(err, &exit) || exit.Signal != backend.Kill) {
				t.Errorf("it ended with %v", err)
			}
			if left := p.Survivors(); len(left) > 0 {
				t.Errorf("survivors: %q", left)
			}
		})
	}
}

// TestNativeForgets: what has lingered and ended is let go.
func TestNativeForgets(t *testing.T) {
	n := openBare(t)
	cmd := child(n, "leave")
	cmd.Linger = true
	p, err := n.Start(t.Context(), cmd)
	if err == nil {
		err = p.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := len(n.living()); got != 1 {
		t.Fatalf("%d trees are kept", got)
	}
	if err := p.Signal(t.Context(), backend.Kill); err != nil {
		t.Error(err)
	}
	testenv.Eventually(t, "all are let go", func() bool {
		if _, err := backend.Run(t.Context(), n, child(n, "0"), nil); err != nil {
			t.Fatal(err)
		}
		return len(n.living()) == 0
	})
}

// TestNativeTerminate: a polite signal ends a process that does not mind it, and it counts as ended by
// that signal.
func TestNativeTerminate(t *testing.T) {
	n := openBare(t)
	for _, sig := range []backend.Signal{backend.Terminate, backend.Interrupt} {
		out := &waited{}
		cmd := child(n, "sleep")
		cmd.Stdout = out
		p, err := n.Start(t.Context(), cmd)
		if err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, "it runs", func() bool { return strings.Contains(out.String(), "ready") })
		if err := p.Signal(t.Context(), sig); err != nil {
			t.Error(err)
		}
		exit := (*backend.ExitError)(nil)
		if err := p.Wait(t.Context()); !errors.As(err, &exit) || *exit != (backend.ExitError{Code: -int(sig), Signal: sig}) {
			t.Errorf("signal %d: ended with %v", sig, err)
		}
	}
}

// TestSweep: of what lies in a temporary directory, that of a dead process goes, and nothing else.
func TestSweep(t *testing.T) {
	temp := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	dead := owner.Self()
	dead.PID, dead.Start = child.Process.Pid, "-"
	for name, mark := range map[string]*owner.Mark{
		scratchPrefix + "dead": &dead, scratchPrefix + "unmarked": nil, "another": &dead, scratchPrefix + "ours": new(owner.Self()),
	} {
		dir := filepath.Join(temp, name)
		err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700)
		if mark != nil && err == nil {
			err = mark.Write(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sweep(temp)
	entries, err := os.ReadDir(temp)
	var left []string
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if want := []string{"another", scratchPrefix + "ours", scratchPrefix + "unmarked"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left: %q, %v; want %q", left, err, want)
	}
}
