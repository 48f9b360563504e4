package guest

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/fields"
)

func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../python/testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		v := strings.Fields(line)
		t.Run(v[0], func(t *testing.T) {
			payload := vectorPayload(t, v[4])
			h := header{kind(number(t, v[1])), byte(number(t, v[2])), uint32(number(t, v[3])), uint32(len(payload))}
			got := append(h.append(nil), payload...)
			if hex.EncodeToString(got) != v[5] {
				t.Errorf("encoded %x, want %s", got, v[5])
			}
			if back, err := readHeader(bytes.NewReader(got)); err != nil || back != h {
				t.Errorf("read back %+v, %v; want %+v", back, err, h)
			}
		})
	}
}

func number(t *testing.T, s string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func vectorPayload(t *testing.T, s string) []byte {
	t.Helper()
	if list, ok := strings.CutPrefix(s, "["); ok {
		var b []byte
		for pair := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ",") {
			key, value, _ := strings.Cut(pair, "=")
			b = fields.Append(b, key, value)
		}
		return b
	}
	b, err := hex.DecodeString(strings.Trim(s, "-"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFrameTooLong(t *testing.T) {
	h := header{kind: kindData, length: maxPayload + 1}.append(nil)
	if _, err := readHeader(bytes.NewReader(h)); !errors.Is(err, errProtocol) {
		t.Fatalf("a frame over the limit: %v", err)
	}
}
