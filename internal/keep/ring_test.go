package keep

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/tempfile"
)

// A tail that outgrows the memory is the same tail, also where no file can be had, or none that
// takes any more.
func TestLargeTail(t *testing.T) {
	const head, tail = 100, inMemory + 12345
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, k *Writer, i int) // before write i
	}{
		{"in a file", func(*testing.T, *Writer, int) {}},
		{"no file", func(t *testing.T, _ *Writer, i int) {
			t.Helper()
			if i == 0 {
				t.Setenv("TMPDIR", "/nonexistent")
			}
		}},
		{"the file takes no more", func(t *testing.T, k *Writer, i int) {
			t.Helper()
			if i == 40 {
				k.ring.f = readOnly(t, k.ring.f)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var whole, got bytes.Buffer
			k := New(&got, &backend.Keep{Head: head, Tail: tail})
			for i := range 70 {
				c.spoil(t, k, i)
				p := bytes.Repeat([]byte{byte(i)}, 50_001)
				whole.Write(p)
				_, _ = k.Write(p)
			}
			counts, err := k.Close()
			all := whole.Bytes()
			want := append(bytes.Clone(all[:head]), all[len(all)-tail:]...)
			if err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%d bytes, %v; want %d", got.Len(), err, len(want))
			}
			if counts.Omitted != int64(len(all)-head-tail) {
				t.Errorf("%+v", counts)
			}
		})
	}
}

// readOnly returns a copy of f that cannot be written.
func readOnly(t *testing.T, f *tempfile.File) *tempfile.File {
	t.Helper()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	name := filepath.Join(t.TempDir(), "copy")
	if err := cmp.Or(err, f.Close(), os.WriteFile(name, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	replaced, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return &tempfile.File{File: replaced}
}

func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 20).Draw(t, "size")
		r, err := newRing(size, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.f.Close() }()
		var whole []byte
		for _, p := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 50)).Draw(t, "writes") {
			whole = append(whole, p...)
			if err := r.write(p); err != nil {
				t.Fatal(err)
			}
		}
		skip := rapid.Int64Range(0, 25).Draw(t, "skip")
		var got bytes.Buffer
		if _, err := got.ReadFrom(r.reader(skip)); err != nil {
			t.Fatal(err)
		}
		want := last(whole, size)
		want = want[min(skip, int64(len(want))):]
		if !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("%q, want %q", got.Bytes(), want)
		}
	})
}
