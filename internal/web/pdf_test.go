package web

import (
	"net/http"
	"strings"
	"testing"
)

// A PDF of which all bytes came that were announced may still be half of one.
func TestCutPDF(t *testing.T) {
	const whole = "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj 2 0 obj <</Type/Pages/Count 2/Kids[3 0 R 5 0 R]>> endobj\n" +
		"3 0 obj <</Type/Page/Contents 4 0 R>> endobj 4 0 obj <</Length 24>> stream\nBT /F 9 Tf (first) Tj ET\nendstream endobj\n" +
		"5 0 obj <</Type/Page/Contents 6 0 R>> endobj 6 0 obj <</Length 25>> stream\nBT /F 9 Tf (second) Tj ET\nendstream endobj\n" +
		"trailer <</Root 1 0 R>> startxref 0 %%EOF"
	before := func(what string) http.HandlerFunc {
		return write("application/pdf", whole[:strings.Index(whole, what)])
	}
	s := site(t, map[string]http.HandlerFunc{"/whole": write("application/pdf", whole), "/half": before("5 0 obj"), "/head": before("4 0 obj")})
	for path, want := range map[string]string{
		"/whole": "first\n\nsecond",
		"/half":  "[... the PDF is damaged: the file ends early, and 1 of its 2 pages cannot be read ...]\n\nfirst",
	} {
		if p, err := fetch(t.Context(), local(nil), s.URL+path); err != nil || p.Text != want {
			t.Errorf("%s: %q, %v; want %q", path, p.Text, err, want)
		}
	}
	wants(t, local(nil), s.URL+"/head", "the PDF is damaged: the file ends early, and 1 of its 2 pages cannot be read; there is no text")
}
