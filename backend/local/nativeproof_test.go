package local

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestReadProof(t *testing.T) {
	for text, want := range map[string]any{
		proofLine + "\n3.11.2\n/usr/bin/python3\n":                backend.Python{Path: "/usr/bin/python3", Version: "3.11.2"},
		"a banner\n" + proofLine + "\n3.8.0\nC:\\Python\\p.exe\n": backend.Python{Path: `C:\Python\p.exe`, Version: "3.8.0"},
		proofLine + "\n3.7.9\n/usr/bin/python3\n":                 "3.7.9 is older than 3.8",
		proofLine + "\n2.7.18\n/usr/bin/python\n":                 "2.7.18 is older than 3.8",
		proofLine + "\n3.11.2\n\n":                                "it does not know where it lies",
		proofLine + "\nnonsense":                                  "nonsense is older than 3.8",
		"Python was not found":                                    "it does not answer as a Python does",
		"":                                                        "it does not answer as a Python does",
	} {
		got, err := readProof(text)
		if err != nil && err.Error() != want || err == nil && got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
}

// TestNativePassesOver: an interpreter that does not work is named in a warning, and the next one used.
func TestNativePassesOver(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("the broken interpreter is a shell script")
	}
	env := testenv.Environ()
	env["VIRTUAL_ENV"] = t.TempDir()
	if err := os.Mkdir(env["VIRTUAL_ENV"]+"/bin", 0o700); err != nil {
		t.Fatal(err)
	}
	broken := env["VIRTUAL_ENV"] + "/bin/python3"
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho broken >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	testenv.Python(t) // or there is no other
	n, err := OpenNative(t.Context(), Config{Dir: t.TempDir(), Env: env})
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, n)
	const want = " (VIRTUAL_ENV) cannot be used: exit status 3: broken"
	if got := n.Info().Warnings; len(got) != 1 || !strings.HasSuffix(got[0], broken+want) {
		t.Errorf("warnings: %q", got)
	}
}

// TestStreamMark: what comes behind the mark is not the process's, and what looks like its beginning is.
func TestStreamMark(t *testing.T) {
	for name, tt := range map[string]struct{ before, after string }{
		"nothing": {"", ""}, "some": {"before", "after"}, "more than fits": {strings.Repeat("x", 3*pipeBuffer), "after"},
		"the beginning of a mark": {"MARK", ""}, "twice": {"MARKMARK", "MARK"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			s, err := newStream(&out, nil)
			if err != nil {
				t.Fatal(err)
			}
			s.mark = []byte("0123456789abcdef")
			before := strings.ReplaceAll(tt.before, "MARK", string(s.mark[:9]))
			go s.read()
			for _, text := range []string{before[:len(before)/2], before[len(before)/2:]} {
				if _, err := s.w.WriteString(text); err != nil {
					t.Fatal(err)
				}
			}
			over := make(chan struct{})
			s.ending.Store(true)
			if _, err := s.w.WriteString(string(s.mark) + tt.after); err != nil {
				t.Fatal(err)
			}
			s.finish(func() { close(over) })
			<-over
			if out.String() != before || s.counts != (backend.Counts{Total: int64(len(before))}) {
				t.Errorf("%d bytes of %d, counts %+v", out.Len(), len(before), s.counts)
			}
		})
	}
}

func TestPartial(t *testing.T) {
	for text, want := range map[string]int{"": 0, "x": 0, "a": 1, "xab": 2, "xabc": 3, "abcd": 0, "abca": 1, "abx": 0} {
		if got := partial([]byte(text), []byte("abcd")); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
