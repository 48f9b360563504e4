package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// printed is an output of which some is in the file already.
func printed(t interface{ Cleanup(func()) }, filed, rest []byte) *output {
	o := &output{}
	t.Cleanup(o.close)
	_, _ = o.Write(filed)
	if o.flush() != nil {
		o.noFile = true
	}
	_, _ = o.Write(rest)
	return o
}

// text is what a script gets of an output.
func (e ends) text() (string, error) {
	quoted, err := e.appendTo(nil, math.MaxInt)
	var text string
	if err == nil {
		err = json.Unmarshal(quoted, &text)
	}
	if n, e := e.quotedLen(); e != nil || n != int64(len(quoted)) {
		err = fmt.Errorf("the length is %d, not %d: %w", len(quoted), n, e)
	}
	return text, err
}

func TestEnds(t *testing.T) {
	o := printed(t, []byte("a€")[:3], []byte("€b")[1:])
	e := ends{src: o, head: span{0, 3}, tail: span{3, 6}, omitted: 10}
	if got, err := e.text(); err != nil || got != "a\n[... 14 bytes omitted ...]\nb" {
		t.Errorf("%q, %v", got, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		head := rapid.SliceOf(rapid.Byte()).Draw(t, "head")
		tail := rapid.SliceOf(rapid.Byte()).Draw(t, "tail")
		src := bytes.NewReader(slices.Concat(head, tail))
		h, all := int64(len(head)), int64(len(head)+len(tail))
		e := ends{src: src, head: span{0, h}, tail: span{h, all}, omitted: int64(len(tail))}
		c := e.cut(rapid.Float64Range(0, 1).Draw(t, "part"))
		if c.size()+c.omitted != all+e.omitted {
			t.Fatalf("%+v: not all bytes are accounted for", c)
		}
		if c.head.from != 0 || c.head.to > c.tail.from || c.tail.to > all || c.tail.size() > 0 && c.tail.to != all {
			t.Fatalf("%+v is not cut from the ends of %d and %d bytes", c, len(head), len(tail))
		}
	})
}

// What comes back is what was printed, wherever it was kept, with each byte that is not UTF-8
// replaced.
func TestOutputText(t *testing.T) {
	for _, place := range []string{"", "/nonexistent"} { // no file can be had there
		t.Run(place, func(t *testing.T) {
			if place != "" {
				t.Setenv("TMPDIR", place)
			}
			rapid.Check(t, func(t *rapid.T) {
				piece := rapid.SampledFrom([]string{"a", "\n", "\x00", "€", "\xe2\x82", "\xff", "\"", "😀", "<", "\u2028", strings.Repeat("é", block/2)})
				filed := strings.Join(rapid.SliceOf(piece).Draw(t, "filed"), "")
				rest := strings.Join(rapid.SliceOf(piece).Draw(t, "rest"), "")
				o := printed(t, []byte(filed), []byte(rest))
				got, err := o.take(0).text()
				if want := string([]rune(filed + rest)); err != nil || got != want {
					t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
				}
			})
		})
	}
}

func TestOutputGoesToAFile(t *testing.T) {
	var o output
	defer o.close()
	p := bytes.Repeat([]byte("0123456789abcdef"), 2048)
	for range 5 * inMemory / len(p) {
		_, _ = o.Write(p)
	}
	if o.filed == 0 || cap(o.data) > 2*inMemory {
		t.Errorf("%d bytes in a file, %d in memory", o.filed, cap(o.data))
	}
	// One that takes no more: what it has stays there.
	if err := o.file.Truncate(o.filed); err != nil {
		t.Fatal(err)
	}
	o.noFile = true
	_, _ = o.Write(p)
	if text, err := o.take(0).text(); err != nil || text != strings.Repeat(string(p), 5*inMemory/len(p)+1) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	o.close()
	if n, err := o.Write(p); n != len(p) || err != nil {
		t.Errorf("after close: %d, %v", n, err)
	}
}

// TestReplyRoom: a large reply is made only when there is room for it, and is not larger than that.
func TestReplyRoom(t *testing.T) {
	var asked []int64
	env := &Env{Admit: func(_ context.Context, size int64) error {
		asked = append(asked, size)
		return nil
	}}
	for _, c := range []struct {
		text  string
		asked int
	}{
		{strings.Repeat("x", 1000), 0},
		{strings.Repeat("x", 2<<20), 1},
		{strings.Repeat("\"", 2<<20), 2},    // twice as long
		{strings.Repeat("\x01", 11<<20), 2}, // six times, and then cut
	} {
		asked = nil
		o := printed(t, []byte(c.text), nil)
		reply, err := terminalReply(t.Context(), env, o.take(0), 3)
		var result struct {
			Output    string
			ExitCode  int `json:"exit_code"`
			Truncated bool
		}
		if err = errors.Join(err, json.Unmarshal(reply, &result)); err != nil || result.ExitCode != 3 {
			t.Errorf("%.5q: %v", c.text, err)
		}
		if len(asked) != c.asked || c.asked > 0 && int64(cap(reply)) > asked[len(asked)-1] || len(reply) > maxReply {
			t.Errorf("%.5q: asked for %d, made %d", c.text, asked, cap(reply))
		}
		if cut := len(c.text) >= 11<<20; result.Truncated != cut || !cut && result.Output != c.text {
			t.Errorf("%.5q: %d of %d bytes, truncated %v", c.text, len(result.Output), len(c.text), result.Truncated)
		}
	}
	env.Admit = func(context.Context, int64) error { return ErrNoCell }
	o := printed(t, make([]byte, 2<<20), nil)
	if _, err := terminalReply(t.Context(), env, o.take(0), 0); !errors.Is(err, ErrNoCell) {
		t.Errorf("no room: %v", err)
	}
}
