package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgress(t *testing.T) {
	steps := []string{"pulling image lab", "pulling image lab", "pulling image lab: 1 of 2 layers", "", ""}
	for name, test := range map[string]struct {
		dumb  bool
		width int
		want  string
	}{
		"one line, which is gone at the end": {
			width: 80, want: "\rhermes-exec: pulling image lab\x1b[K" + "\rhermes-exec: pulling image lab: 1 of 2 layers\x1b[K" + "\r\x1b[K",
		},
		"no line is longer than the terminal is wide": {
			width: 34, want: "\rhermes-exec: pulling image lab\x1b[K" + "\rhermes-exec: pulling image lab: 1\x1b[K" + "\r\x1b[K",
		},
		"a terminal that cannot go back": {dumb: true, width: 80, want: "hermes-exec: pulling image lab\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var shown strings.Builder
			p := &progress{w: &shown, dumb: test.dumb, width: func() int { return test.width }}
			for _, text := range steps {
				p.show(text)
			}
			if shown.String() != test.want {
				t.Errorf("got  %q\nwant %q", shown.String(), test.want)
			}
		})
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, a := range map[string]*app{
		"a file": {err: f},
		"a pipe": {err: &strings.Builder{}},
	} {
		if a.progress(false) != nil {
			t.Errorf("%s is shown progress", name)
		}
	}
}
