package hermes

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// The ending counts where the content does not speak against it.
func TestMediaType(t *testing.T) {
	const (
		png, zip, nul = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "PK\x03\x04\x14\x00", "a,b\x00"
		sheet         = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
		plain, binary = "text/plain; charset=utf-8", "application/octet-stream"
		page          = "<!DOCTYPE html><title>404</title>"
	)
	for _, tt := range []struct{ name, head, want string }{
		// Both say the same, or the name says more.
		{"a.png", png, "image/png"},
		{"a", png, "image/png"},
		{"a.csv", "a,b\n", "text/csv; charset=utf-8"},
		{"A.CSV", "", "text/csv; charset=utf-8"},
		{"a.csv", "\xff\xfea\x00,\x00b\x00", "text/csv; charset=utf-16le"},
		{"a.tsv", "a\tb", "text/tab-separated-values; charset=utf-8"},
		{"a.md", "<p align=center>", "text/markdown; charset=utf-8"},
		{"a.htm", "x", "text/html; charset=utf-8"},
		{"a.txt", page, plain},
		{"a.json", "{}", "application/json"},
		{"a.ipynb", "{}", "application/json"},
		{"a.xml", "<a/>", "text/xml; charset=utf-8"},
		{"a.svg", "<svg/>", "image/svg+xml"},
		{"a.svg", "<?xml version='1.0'?><svg/>", "image/svg+xml"},
		{"a.xlsx", zip, sheet},
		{"a.parquet", "PAR1\x15\x04", "application/vnd.apache.parquet"},

		// The content speaks against it.
		{"a.png", "no plot", plain},
		{"a.png", page, "text/html; charset=utf-8"},
		{"a.csv", png, "image/png"},
		{"a.csv", nul, binary},
		{"a.json", nul, binary},
		{"a.svg", png, "image/png"},
		{"a.html", "%PDF-1.7\n1 0 obj", "application/pdf"},
		{"a.xlsx", page, "text/html; charset=utf-8"},
		{"a.xlsx", "a,b\n", plain},
		{"a.docx", "", plain},
		{"a.parquet", zip, "application/zip"},

		// Text that begins as another format does.
		{"a.csv", "BMI,age\n", "text/csv; charset=utf-8"},
		{"a", "BMI,age\n", plain},
		{"a", "ID3 tags\n", plain},
		{"a.txt", strings.Repeat("x", 34) + "LP", plain},
		{"a", "BM\x10\x00\x00\x00", "image/bmp"},
	} {
		if got := mediaTypeOf(tt.name, []byte(tt.head), true); got != tt.want {
			t.Errorf("%s of %.20q: %s, want %s", tt.name, tt.head, got, tt.want)
		}
		if got, want := mediaTypeOf(tt.name, []byte(tt.head), false), strings.TrimSuffix(tt.want, "; charset=utf-8"); got != want {
			t.Errorf("%s of %.20q, not UTF-8: %s, want %s", tt.name, tt.head, got, want)
		}
	}
}

func TestSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(rapid.String().Draw(t, "text"))
		if rapid.Bool().Draw(t, "bytes") {
			data = append(data, rapid.SliceOf(rapid.Byte()).Draw(t, "more")...)
		}
		s, left := &spelling{}, data
		for len(left) > 0 {
			n := rapid.IntRange(1, len(left)).Draw(t, "n")
			if _, err := s.Write(left[:n]); err != nil {
				t.Fatal(err)
			}
			left = left[n:]
		}
		if s.isUTF8() != utf8.Valid(data) {
			t.Errorf("%q: %v", data, s.isUTF8())
		}
	})
}
