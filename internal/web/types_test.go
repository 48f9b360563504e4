package web

import (
	"net/http"
	"strings"
	"testing"
)

// What is text is read, whatever name a server has for it.
func TestTypesOfText(t *testing.T) {
	for _, media := range []string{
		"application/jsonl", "application/x-jsonlines", "application/typescript", "application/x-typescript", "application/x-mpegURL", "application/vnd.apple.mpegurl",
		"application/json5", "application/x-shellscript", "application/x-python", "application/csv", "application/x-pem-file", "application/xml-dtd", "message/rfc822",
		"application/ld+json", "image/svg+xml", "model/x3d+xml", "*/*", "application/x-download", "application/x-javascript", "application/json, application/json",
	} {
		if p := pageAs(t, media, "just words"); p.Text != "just words" {
			t.Errorf("%s: %+v", media, p)
		}
	}
	for _, media := range []string{"application/zip", "application/x-tar", "application/wasm", "image/png", "audio/mpeg", "video/mp4", "font/woff2", "application/gzip"} {
		if _, ok := formOf(media); ok {
			t.Errorf("%s is read", media)
		}
	}
}

// A header that programs behind each other have put there twice is the first of them, with its parameters.
func TestDoubledType(t *testing.T) {
	for _, media := range []string{"text/html, text/html", "text/html,text/plain", "text/html; charset=windows-1251, text/html; charset=utf-8"} {
		if got, _ := mediaType(media); got != "text/html" {
			t.Errorf("%s: %q", media, got)
		}
	}
	if p := pageAs(t, "text/html; charset=windows-1251, text/html", "<p>\xcf</p>"); p.Text != "П" {
		t.Errorf("%+v", p)
	}
	if p := pageAs(t, `text/html; x="a, b"; charset=windows-1251`, "<p>\xcf</p>"); p.Text != "П" {
		t.Errorf("a comma in quotes: %+v", p)
	}
}

// Binary data is no page, whatever its server calls it.
func TestBinaryAsHTML(t *testing.T) {
	const binary = "the page is binary data, although its server calls it text"
	noise := strings.Repeat("\x00\x01\x7f<a>\x80\xff\x10Zq", 500)
	for _, media := range []string{"text/html", "application/xhtml+xml", "text/plain", "text/html; charset=utf-8"} {
		for _, body := range []string{"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", noise, "\xff\xd8\xff\xe0\x00\x10JFIF\x00", "PK\x03\x04\x14\x00\x00\x00", string(zip(t, "a page of text"))} {
			s := siteOf(t, write(media, body))
			if p, err := fetch(t.Context(), local(nil), s.URL); err == nil || err.Error() != s.URL+": "+binary || p != (Page{}) {
				t.Errorf("%s, %.20q: %+v, %v", media, body, p, err)
			}
		}
	}
	s := siteOf(t, refuse(http.StatusBadRequest, "text/html", noise))
	wants(t, local(nil), s.URL, "400 Bad Request")
	if _, err := fetch(t.Context(), local(nil), s.URL); err == nil || strings.Contains(err.Error(), "it says") {
		t.Errorf("a refusal: %v", err)
	}
	for _, body := range []string{"<title>T</title>\x00<p>text</p>", "<center>" + strings.Repeat("text ", 50) + "\x00\x0b</center>", "<!DOCTYPE html>" + strings.Repeat("\x01", 10) + "<p>text</p>"} {
		if p := pageAs(t, "text/html", body); !strings.Contains(p.Text, "text") {
			t.Errorf("%q: %+v", body, p)
		}
	}
}

// A part that nobody asked for is no page, unless it is all of it.
func TestUnaskedPart(t *testing.T) {
	for contentRange, want := range map[string]string{
		"bytes 0-3/4": "", "bytes 0-3/5": "part", "bytes 1-4/4": "part", "bytes 0-3/*": "part", "": "part", "bytes 0-": "part",
	} {
		s := siteOf(t, refuse(http.StatusPartialContent, "text/plain", "page", "Content-Range", contentRange))
		if want != "" {
			wants(t, local(nil), s.URL, s.URL+": only a part of the page came: the server answered 206 Partial Content, although all of it was asked for")
		} else if p, err := fetch(t.Context(), local(nil), s.URL); err != nil || p.Text != "page" {
			t.Errorf("%s: %+v, %v", contentRange, p, err)
		}
	}
}

// What stands behind a stream of gzip is no reason to have nothing; what is missing of one is.
func TestBehindGzip(t *testing.T) {
	packed := string(zip(t, "packed"))
	pack := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			write("text/plain", body)(w, r)
		}
	}
	for body, want := range map[string]string{
		packed + "\x00\x00\x00": "packed", packed + "junk": "packed", packed + "\x1f": "packed", packed + packed: "packedpacked", packed + packed + "\r\n": "packedpacked",
	} {
		s := siteOf(t, pack(body))
		if p, err := fetch(t.Context(), local(nil), s.URL); err != nil || p.Text != want {
			t.Errorf("%q: %+v, %v", body, p, err)
		}
	}
	for _, body := range []string{packed[:len(packed)-3], packed + packed[:len(packed)-3], packed + packed[:4]} {
		s := siteOf(t, pack(body))
		wants(t, local(nil), s.URL, "only a part of the page came: it is compressed, and ends in the middle")
	}
	for _, body := range []string{"h", "hello", "\x1f", "\x1f\x8b\x08", "\x1f\x8b?", "{}"} {
		want := "the page is not compressed as its server says: gzip: invalid header"
		if strings.HasPrefix(packed, body) {
			want = "only a part of the page came: it is compressed, and ends in the middle"
		}
		s := siteOf(t, pack(body))
		wants(t, local(nil), s.URL, want)
	}
}
