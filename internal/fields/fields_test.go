package fields

import (
	"errors"
	"reflect"
	"testing"
)

func TestFieldsKeepBytesAndRepetitions(t *testing.T) {
	b := AppendInt(Append(Append(nil, "arg", "\xff\n="), "arg", ""), "n", -7)
	got, err := Parse(b)
	want := Fields{"arg": {"\xff\n=", ""}, "n": {"-7"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
	for size := 1; size < 6; size++ {
		if _, err := Parse(b[:size]); !errors.Is(err, ErrShort) {
			t.Errorf("cut to %d bytes: %v", size, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Append(nil, "key", "value"))
	f.Add([]byte{0, 1, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Parse(data)
		if err != nil {
			return
		}
		size := 0
		for key, values := range got {
			for _, value := range values {
				size += 6 + len(key) + len(value)
			}
		}
		if size != len(data) {
			t.Fatalf("%d bytes of fields from %d bytes", size, len(data))
		}
	})
}
