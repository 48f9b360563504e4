package backend

import (
	"bytes"
	"io"
	"testing"
)

// list is a writer that Go cannot compare.
type list []io.Writer

func (list) Write(p []byte) (int, error) { return len(p), nil }

func TestMerged(t *testing.T) {
	one, other := &bytes.Buffer{}, &bytes.Buffer{}
	for name, tt := range map[string]struct {
		stdout, stderr io.Writer
		want           bool
	}{
		"one writer":                      {one, one, true},
		"two":                             {one, other, false},
		"none":                            {nil, nil, false},
		"one of them":                     {one, nil, false},
		"no comparison":                   {list{one}, list{one}, false},
		"no comparison of what is inside": {struct{ io.Writer }{list{one}}, struct{ io.Writer }{list{one}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Cmd{Stdout: tt.stdout, Stderr: tt.stderr}).Merged(); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
