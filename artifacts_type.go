package hermes

import (
	"net/http"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// mediaTypeOf tells of what kind a file is. Its content says so, of which head is the beginning, and its
// name where it says more than that and nothing else: a page that tells of an error is none of Excel's
// sheets, whatever the name is that it was saved by. The tables of the system are not asked: a result is
// the same on every host. Text that is not UTF-8 is of no encoding that could be told.
func mediaTypeOf(name string, head []byte, isUTF8 bool) string {
	found := contentType(head)
	if !isUTF8 {
		found = strings.TrimSuffix(found, "; charset=utf-8")
	}
	is, params, _ := strings.Cut(found, ";")
	named, of := namedType(strings.ToLower(filepath.Ext(name)))
	switch {
	case named == "" || !strings.HasPrefix(is, of):
		return found
	case strings.HasPrefix(named, "text/") && params != "":
		return named + ";" + params // as it was found: Excel writes CSV in UTF-16, too
	}
	return named
}

// namedType is the kind that an ending stands for, and what such a content is found to be, or how that begins.
func namedType(ending string) (named, of string) {
	const text, zip, other = "text/", "application/zip", "application/octet-stream"
	switch ending {
	case ".txt", ".log":
		return "text/plain", text
	case ".csv":
		return "text/csv", text
	case ".tsv":
		return "text/tab-separated-values", text
	case ".md":
		return "text/markdown", text
	case ".html", ".htm":
		return "text/html", text
	case ".json", ".ipynb":
		return "application/json", text
	case ".xml":
		return "text/xml", text
	case ".svg":
		return "image/svg+xml", text
	case ".xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", zip
	case ".docx":
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document", zip
	case ".parquet":
		return "application/vnd.apache.parquet", other
	}
	return "", ""
}

// spelling finds out whether all that is written to it is UTF-8. The zero value has got nothing, which is.
type spelling struct {
	rest []byte // the beginning of a character
	bad  bool
}

// Write implements io.Writer. It never fails.
func (s *spelling) Write(p []byte) (int, error) {
	n := len(p)
	if s.bad {
		return n, nil
	}
	for len(s.rest) > 0 && len(p) > 0 && !utf8.FullRune(s.rest) {
		s.rest, p = append(s.rest, p[0]), p[1:]
	}
	if len(s.rest) > 0 && !utf8.FullRune(s.rest) {
		return n, nil
	}
	whole := len(p)
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if utf8.RuneStart(p[len(p)-i]) && !utf8.FullRune(p[len(p)-i:]) {
			whole = len(p) - i
		}
	}
	s.bad = !utf8.Valid(s.rest) || !utf8.Valid(p[:whole])
	s.rest = append(s.rest[:0], p[whole:]...)
	return n, nil
}

func (s *spelling) isUTF8() bool { return !s.bad && len(s.rest) == 0 }

// contentType is what http.DetectContentType finds, but for text that happens to begin as another format
// does: a table with the columns BMI and ID3 is no picture, and no music. Of those formats all but these
// two have bytes at their beginning that no text has.
func contentType(head []byte) string {
	found := http.DetectContentType(head)
	if strings.HasPrefix(found, "text/") || found == "application/pdf" || found == "application/postscript" {
		return found
	}
	// No format begins with this, but for those that are text.
	behind := http.DetectContentType(append([]byte("\n"), head...))
	if strings.HasPrefix(behind, "text/") {
		return behind
	}
	return found
}
