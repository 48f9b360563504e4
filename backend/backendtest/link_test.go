package backendtest

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// linked returns the ends of a stream with link in it.
func linked(t *testing.T, link *Link) (near, far io.ReadWriteCloser) {
	t.Helper()
	inner, far := duplex()
	near = link.Wrap(inner)
	t.Cleanup(func() {
		link.Cut()
		near.Close()
		far.Close()
	})
	return near, far
}

func TestLinkWithoutFaults(t *testing.T) {
	near, far := linked(t, &Link{})
	data := pattern(1 << 20)
	go func() { _, _ = io.WriteString(near, data); near.Close() }()
	if got, err := io.ReadAll(far); string(got) != data || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestLinkChops(t *testing.T) {
	near, far := linked(t, &Link{Chop: 3, Delay: time.Microsecond})
	go func() { _, _ = io.WriteString(far, "0123456789"); far.Close() }()
	buf := make([]byte, 100)
	if n, err := near.Read(buf); n != 3 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	if rest, err := io.ReadAll(near); string(rest) != "3456789" || err != nil {
		t.Errorf("the rest is %q, %v", rest, err)
	}
}

func TestLinkFreezesAndThaws(t *testing.T) {
	link := &Link{}
	near, far := linked(t, link)
	link.Freeze()
	got := make(chan string)
	go func() {
		buf := make([]byte, 10)
		n, _ := far.Read(buf)
		got <- string(buf[:n])
	}()
	wrote := make(chan error)
	go func() { _, err := io.WriteString(near, "late"); wrote <- err }()
	select {
	case text := <-got:
		t.Errorf("%q came through a frozen link", text)
	case err := <-wrote:
		t.Errorf("a frozen link accepted something: %v", err)
	case <-time.After(20 * time.Millisecond): // can only pass wrongly, never fail wrongly
	}
	link.Thaw()
	if text, err := <-got, <-wrote; text != "late" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestLinkFrozenKeepsCloseBack(t *testing.T) {
	link := &Link{}
	near, far := linked(t, link)
	reading := make(chan error)
	go func() { _, err := near.Read(make([]byte, 1)); reading <- err }()
	link.Freeze()
	near.Close()
	if err := <-reading; !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	// The other side may still write: the pump of the link takes one piece.
	if _, err := far.Write([]byte("x")); err != nil {
		t.Errorf("the other side has seen the close: %v", err)
	}
	link.Thaw()
	if _, err := far.Read(make([]byte, 1)); err == nil {
		t.Error("the close did not come through")
	}
}

func TestLinkCut(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		link := &Link{}
		near, far := linked(t, link)
		if frozen {
			link.Freeze()
		}
		reading := make(chan error)
		go func() { _, err := near.Read(make([]byte, 1)); reading <- err }()
		link.Cut()
		if err := <-reading; !errors.Is(err, ErrCut) {
			t.Errorf("read: %v", err)
		}
		if _, err := far.Read(make([]byte, 1)); err == nil {
			t.Error("the other side sees nothing of it")
		}
		later, _ := duplex()
		if _, err := link.Wrap(later).Read(make([]byte, 1)); !errors.Is(err, ErrCut) {
			t.Errorf("a later stream: %v", err)
		}
	}
}
