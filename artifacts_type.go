package hermes

import (
	"net/http"
	"path/filepath"
	"strings"
)

// mediaTypeOf tells of what kind a file is. Its content says so, of which head is the beginning, and its
// name where it says more than that and nothing else: a page that tells of an error is none of Excel's
// sheets, whatever the name is that it was saved by. The tables of the system are not asked: a result is
// the same on every host.
func mediaTypeOf(name string, head []byte) string {
	found := contentType(head)
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
