package keep_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/keep"
)

func TestWriterIsHeadAndTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := backend.Keep{Head: rapid.Int64Range(0, 20).Draw(t, "head"), Tail: rapid.Int64Range(0, 20).Draw(t, "tail")}
		var whole, got bytes.Buffer
		w := keep.New(&got, &k)
		for _, p := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 50)).Draw(t, "writes") {
			whole.Write(p)
			if n, err := w.Write(p); n != len(p) || err != nil {
				t.Fatalf("write: %d, %v", n, err)
			}
		}
		counts, err := w.Close()
		all := whole.Bytes()
		head := min(int64(len(all)), k.Head)
		tail := min(int64(len(all))-head, k.Tail)
		want := append(bytes.Clone(all[:head]), all[int64(len(all))-tail:]...)
		if err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("got %q, %v; want %q", got.Bytes(), err, want)
		}
		if omitted := int64(len(all)) - head - tail; counts != (backend.Counts{Total: int64(len(all)), Omitted: omitted}) {
			t.Fatalf("counts %+v of %d bytes, %d omitted", counts, len(all), omitted)
		}
	})
}

func TestWriterCountsAfterAnError(t *testing.T) {
	broken := errors.New("broken")
	w := keep.New(failing{broken}, nil)
	for range 3 {
		_, _ = w.Write([]byte("abc"))
	}
	if counts, err := w.Close(); counts.Total != 9 || counts.Omitted != 0 || !errors.Is(err, broken) {
		t.Errorf("%+v, %v", counts, err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
