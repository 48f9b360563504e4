package guest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/fields"
	"github.com/hermes-exec/hermes-exec/internal/keep"
	"github.com/hermes-exec/hermes-exec/python"
)

// maxNoise is how many bytes of banners and shell start-up text may precede the greeting.
const maxNoise = 1 << 16

// bootLine is the code that the interpreter is started with: everything else comes on stdin. It holds no
// newline, backslash, exclamation mark, dollar sign or backquote, so that every login shell passes it on
// unharmed when it stands in single quotes. Who gets nothing for a minute ends: a container that was restarted
// waits for a host that does not know of it.
const bootLine = "import sys,posix,_signal;_signal.alarm(60);exec(sys.stdin.buffer.raw.readline());[posix.rmdir(d) for d in sys.argv[1:]]"

// Argv is the command that the interpreter is started with.
func Argv(interpreter string) []string {
	return []string{interpreter, "-I", "-S", "-c", bootLine}
}

// ErrNoGreeting means that what was started ended without a word of the agent's.
var ErrNoGreeting = errors.New("it ended before it greeted")

// RefusedError is what an interpreter answers that runs but cannot carry the agent.
type RefusedError struct{ Reason string }

// Error returns the guest's reason.
func (e *RefusedError) Error() string { return e.Reason }

// Unwrap says that there is no usable Python.
func (e *RefusedError) Unwrap() error {
	if e.Environment() {
		return backend.ErrUnavailable
	}
	return backend.ErrNoPython
}

// Environment tells a refusal for a reason that another interpreter would meet too, such as a full
// disk, from one of the interpreter's own.
func (e *RefusedError) Environment() bool { return !strings.HasPrefix(e.Reason, "Python ") }

// boot sends the bootstrap and waits for the agent's HELLO.
func (g *Guest) boot(r *bufio.Reader) error {
	code, err := bootCode(g.opt)
	if err != nil {
		return err
	}
	wanted := make(chan []byte, 1)
	defer close(wanted)
	// Beside the reading: what does not read its stdin may print more than a pipe holds.
	g.work.Go(func() { g.speak(code, wanted) })
	k, payload, err := g.first(r)
	if err == nil && k == kindWant && g.opt.Offer {
		whole, missing := wholeCode(g.opt)
		if missing != nil {
			return missing
		}
		wanted <- whole
		k, payload, err = g.first(r)
	}
	switch {
	case err != nil:
		return err
	case k == kindHello:
		return g.hello(payload)
	case k == kindRefused:
		return &RefusedError{Reason: string(payload)}
	default:
		return fmt.Errorf("%w: it began with frame %d", errProtocol, k)
	}
}

// speak writes what the agent is booted with, and then frames.
func (g *Guest) speak(code []byte, wanted <-chan []byte) {
	if _, err := g.link.Write(code); err != nil {
		return // there is nothing to read either
	}
	if g.opt.Offer {
		if whole := <-wanted; whole != nil {
			if _, err := g.link.Write(whole); err != nil {
				return
			}
		}
	}
	if g.opt.Begin != nil {
		g.work.Go(func() { g.opt.Begin(g) })
	}
	g.write()
}

// first reads the greeting and the frame behind it.
func (g *Guest) first(r *bufio.Reader) (kind, []byte, error) {
	noise, err := skipTo(r, greeting)
	if err != nil {
		return 0, nil, g.bootError(r, noise, err)
	}
	h, err := readHeader(r)
	if err != nil {
		return 0, nil, g.bootError(r, noise, err)
	}
	payload := make([]byte, h.length)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, g.bootError(r, noise, err)
	}
	return h.kind, payload, nil
}

// bootCode is a line of Python that calls the bootstrap in the library that is there, or one that reads and
// calls what is behind it: the offer, or the bootstrap, and the library. There it is compiled already, which
// saves a tenth of a start.
func bootCode(opt Options) ([]byte, error) {
	switch {
	case opt.Library != "":
		return fmt.Appendf(nil, importBootstrap, literal(opt.Library), python.Package, opt.Lease.Seconds(), literal(opt.Volatile)), nil
	case opt.Offer:
		_, name, err := python.Library()
		if err != nil {
			return nil, err
		}
		offer := python.Offer()
		line := fmt.Appendf(readLine(len(offer), "offer"), callOffer, literal(python.Installed+"/"+name), opt.Lease.Seconds(), literal(opt.Volatile))
		return append(line, offer...), nil
	default:
		return wholeCode(opt)
	}
}

// wholeCode is what boots an agent where nothing is.
func wholeCode(opt Options) ([]byte, error) {
	bootstrap, err := python.Bootstrap()
	if err != nil {
		return nil, err
	}
	library, name, err := python.Library()
	if err != nil {
		return nil, err
	}
	line := fmt.Appendf(readLine(len(bootstrap), "bootstrap"), callBootstrap, literal(name), len(library), opt.Lease.Seconds(), literal(opt.Volatile))
	return slices.Concat(line, bootstrap, library), nil
}

// readLine is the beginning of a line that reads and runs so many bytes of code. It is short, for it is read
// byte by byte. There any() goes on until all of the code is there, and ends the interpreter at EOF.
func readLine(size int, name string) []byte {
	return fmt.Appendf(nil, "import os,sys;B=bytearray();N=%d;"+
		"any(len(B)>=N or B.extend(os.read(0,N-len(B)) or sys.exit()) for _ in iter(int,1));"+
		"exec(compile(bytes(B),'%s.py','exec'));", size, name)
}

// What the line does then. The line behind an offer comes when that was not taken.
const (
	importBootstrap = "import sys;L=%s;sys.path.insert(0,L);from %s.bootstrap import boot;sys.path.remove(L);" +
		"boot('',0,%g,L,%s)\n"
	callBootstrap = "boot(%s,%d,%g,'',%s)\n"
	callOffer     = "offer(%s,%g,%s);exec(sys.stdin.buffer.raw.readline())\n"
)

// literal writes ASCII text as a Python string literal on one line.
func literal(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(text) + `"`
}

// skipTo reads up to and with the mark, and returns what came before it.
func skipTo(r *bufio.Reader, mark string) (noise string, err error) {
	var seen []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			return string(seen), err
		}
		seen = append(seen, c)
		if c == mark[len(mark)-1] && strings.HasSuffix(string(seen[max(0, len(seen)-len(mark)):]), mark) {
			return string(seen[:len(seen)-len(mark)]), nil
		}
		if len(seen) > maxNoise {
			return string(seen), errors.New("it printed too much before it greeted")
		}
	}
}

// bootError explains an agent that did not start by what was printed in its place.
func (g *Guest) bootError(r io.Reader, noise string, err error) error {
	said := noise
	if g.opt.Diagnose != nil {
		g.part(r) // so that what it prints is complete
		said += "\n" + g.opt.Diagnose()
	}
	said = strings.ReplaceAll(said, bootLine, "…") // what is no Python may quote it
	if strings.Contains(said, "Unknown option: -I") {
		return &RefusedError{Reason: "Python 2 is older than 3.8"} // it cannot say more
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrNoGreeting
	}
	if said = keep.LastLine(said); said == "" {
		return fmt.Errorf("start the guest agent: %w", err)
	}
	return fmt.Errorf("start the guest agent: %w: %.500s", backend.Shortage(err, said), said)
}

func (g *Guest) hello(payload []byte) error {
	f, err := fields.Parse(payload)
	if err != nil {
		return err
	}
	if v := f.Int("version"); v != version {
		return fmt.Errorf("%w: it speaks version %d, not %d", errProtocol, v, version)
	}
	g.sockets = f.Text("sockets")
	g.uid, g.gid, g.pid = int(f.Int("uid")), int(f.Int("gid")), int(f.Int("pid"))
	g.info = backend.Info{
		Name: g.opt.Name, Target: g.opt.Target,
		OS: f.Text("os"), Dir: f.Text("dir"), Temp: f.Text("temp"),
		Scratch: f.Text("scratch"), Library: f.Text("library"),
		Python: backend.Python{Path: f.Text("python"), Version: f.Text("python_version")},
		NoHome: f.Int("no_home") != 0, NoZones: f.Int("no_zones") != 0,
		Env: f.Pairs("env"),
	}
	return nil
}
