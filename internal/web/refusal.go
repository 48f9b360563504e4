package web

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// What may be read of the body of an answer that is no page, and shown of it.
const (
	saidBytes = 64 << 10
	saidChars = 300
)

// refused says what a server answered instead of a page. Give up ends the request: a body that does not
// come must not keep back the status, which is here.
func (f *fetcher) refused(ctx context.Context, u *url.URL, resp *http.Response, giveUp context.CancelFunc) error {
	text := http.StatusText(resp.StatusCode)
	if text == "" {
		text = "status"
	}
	status := fmt.Sprintf("%d %s", resp.StatusCode, text)
	after := ""
	if wait := later(resp.Header.Get("Retry-After")); wait != "" {
		after = "; it wants to be asked again after " + wait
	}
	defer time.AfterFunc(f.client.limits.said, giveUp).Stop()
	if said := f.said(ctx, u, resp); said != "" && !strings.EqualFold(said, status) && !strings.EqualFold(said, text) {
		after += "; it says: " + said
	}
	return fmt.Errorf("the server answered %s%s", status, after)
}

// said is the beginning of the text of an answer, in one line. What cannot be read says nothing.
func (f *fetcher) said(ctx context.Context, u *url.URL, resp *http.Response) (text string) {
	defer func() {
		if recover() != nil { // a library has met what it does not expect
			text = ""
		}
	}()
	d := document{url: bare(u)}
	d.media, d.params = mediaType(resp.Header.Get("Content-Type"))
	if d.supported() != nil {
		return ""
	}
	body, err := limits{body: saidBytes}.decompress(io.LimitReader(resp.Body, saidBytes), resp.Header.Values("Content-Encoding"))
	if err != nil {
		return ""
	}
	d.body, err = io.ReadAll(body) // as much as comes
	switch {
	case len(d.body) == 0:
		return ""
	case err != nil, len(d.body) >= saidBytes: // it goes on
		d.body = d.body[:len(d.body)-halfRune(d.body)]
	}
	ctx, cancel := context.WithTimeout(ctx, f.client.limits.said)
	defer cancel()
	select {
	case f.room.extracting <- struct{}{}:
		defer func() { <-f.room.extracting }()
	case <-ctx.Done(): // the status is here
		return ""
	}
	said := []rune(undisclosed(oneLineOf(d.gist()), u.User))
	if len(said) > saidChars {
		return string(said[:saidChars]) + "..."
	}
	return string(said)
}

// halfRune is how many bytes at the end of a text begin a character that is not all there.
func halfRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) && !utf8.FullRune(tail) {
			return n
		}
	}
	return 0
}

// gist is the text of a document without its form.
func (d document) gist() string {
	switch d.sniff() {
	case asText:
		text := d.decode(false)
		if strings.ContainsRune(text, 0) {
			return ""
		}
		return text
	case asHTML:
	default:
		return ""
	}
	text := d.closed(d.decode(true))
	if noHTML(text) {
		return ""
	}
	doc := parse(text)
	if doc == nil {
		return plainText(text).Text
	}
	name := title(doc)
	if tidy(doc, d.url); tooCostly(doc) {
		return plainText(text).Text
	}
	if text = flow(strip(doc)); strings.TrimSpace(text) == "" {
		return name
	}
	return text
}

// flow is the text below a node, apart where a block begins or ends.
func flow(n *html.Node) string {
	var b strings.Builder
	var write func(*html.Node)
	write = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			return
		}
		apart := n.Type == html.ElementNode && !inline(n.DataAtom)
		if apart {
			b.WriteByte(' ')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			write(c)
		}
		if apart {
			b.WriteByte(' ')
		}
	}
	write(n)
	return b.String()
}

// oneLineOf is a text as one line of what can be seen: no control characters, nor those that turn the
// direction of the text or are there to be overlooked.
func oneLineOf(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsSpace(r) && unicode.In(r, unicode.Cc, unicode.Cf) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// undisclosed is a text without the credentials that went out with the request: a server may show what it got.
func undisclosed(text string, user *url.Userinfo) string {
	password, has := user.Password()
	if !has || password == "" {
		return text
	}
	sent := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
	return strings.NewReplacer(sent, "xxxxx", user.String(), user.Username()+":xxxxx", password, "xxxxx").Replace(text)
}
