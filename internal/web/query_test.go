package web

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// lineOf is a server that answers with the line of the request that it got, or with where to go from there.
func lineOf(t *testing.T, location map[string]string) (address string) {
	t.Helper()
	return served(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		line, err := in.ReadString('\n')
		for header := ""; header != "\r\n" && err == nil; {
			header, err = in.ReadString('\n')
		}
		path := strings.TrimSuffix(strings.TrimPrefix(line, "GET "), " HTTP/1.1\r\n")
		answer := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + path
		if to := location[path]; to != "" {
			answer = "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: " + to + "\r\n\r\n"
		}
		_, _ = io.WriteString(c, answer)
	})
}

// What may not stand in a query goes out encoded, and what is encoded is so no more than once.
func TestQueries(t *testing.T) {
	base := lineOf(t, map[string]string{"/to": "/q?x=a b&y=\"ä\"", "/on?x=%20": "q?<\xff>"})
	for path, want := range map[string]string{
		"/json?q=a b": "/json?q=a%20b", "/q?x=ä&y=<x>#<y z>": "/q?x=%C3%A4&y=%3Cx%3E", `/q?"x"`: "/q?%22x%22", "/a b?c d": "/a%20b?c%20d",
		"/q?a=%20b+c&d=e%2Bf=g%zz100%&x='|[]{}\\^`~?/:@!$()*,;": "/q?a=%20b+c&d=e%2Bf=g%zz100%&x='|[]{}\\^`~?/:@!$()*,;",
		"/to": "/q?x=a%20b&y=%22%C3%A4%22", "/on?x=%20": "/q?%3C%FF%3E", "/q?": "/q?",
	} {
		if p, err := fetch(t.Context(), local(nil), base+path); err != nil || p.Text != want {
			t.Errorf("%s: %q, %v; want %q", path, p.Text, err, want)
		}
	}
	s := siteOf(t, http.NotFoundHandler())
	wants(t, local(nil), s.URL+"/x?a=b c", s.URL+"/x?a=b%20c: ")
}

// An address of a page is one that Markdown has, and that can be fetched as it stands.
func TestQueriesOfPages(t *testing.T) {
	for body, want := range map[string]string{
		`<meta http-equiv=refresh content="0; url=/next?a=b c&d=ä>">`: "The page sends its reader on to <https://site.example/next?a=b%20c&d=%C3%A4%3E>.",
		`<base href="/x?a b"><p><a href="">one</a>`:                   "one",
		`<p><a href="/x?a=b c&d=%20">two</a>`:                         "[two](https://site.example/x?a=b%20c&d=%20)",
		`<frameset><frame src="/f?a=b c" name=F></frameset>`:          "The page consists of frames:\n\n- [F](https://site.example/f?a=b%20c)",
	} {
		if got := pageOf(t, body).Text; got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
