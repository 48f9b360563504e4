// Package web fetches pages for scripts and asks search engines, on the host.
//
// A Client turns what servers send into text: HTML into Markdown, PDF into its text, JSON and other
// text as it is. It dials no address that is not public, however a name resolves and wherever a
// server redirects, unless it is allowed to; it has limits on time, bytes and nesting, for it trusts
// nothing that comes. It knows nothing of tools or of how results are shown.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/discreet"
)

// limits bound what one page may cost.
type limits struct {
	time      time.Duration // from the first dial to the last byte, redirects included
	wire      int64         // bytes as they travel
	body      int64         // bytes as they were before compression
	html      int64         // bytes of a page of HTML, which takes more memory than text
	redirects int
	said      time.Duration // of waiting for what a server says that has no page
}

func defaultLimits() limits {
	return limits{time: 60 * time.Second, wire: 16 << 20, body: 16 << 20, html: 8 << 20, redirects: 10, said: 3 * time.Second}
}

const (
	parallel = 32      // pages that one call fetches at once
	modest   = 1 << 20 // bytes of a body that need no leave
	large    = 4       // bodies beyond modest that are in memory at once, for all who share a Cache
)

// Page is the text of a page.
type Page struct{ Title, Text string }

// Client fetches pages. It is safe for concurrent use and holds nothing that has to be closed.
type Client struct {
	// AllowPrivate lets it dial addresses that are not public, those of cloud metadata among them.
	AllowPrivate bool
	// Cache keeps what was fetched, and is what clients share that wait for each other; nil keeps nothing
	// and lets the pages of a call wait for each other alone.
	Cache *Cache

	limits   limits
	refuse   func(netip.Addr) error // the rule; tests let a server of their own be public
	resolver *net.Resolver
}

// NewClient returns a client that dials public addresses, or all, and keeps what it fetched in cache,
// if that is not nil.
func NewClient(allowPrivate bool, cache *Cache) *Client {
	return &Client{AllowPrivate: allowPrivate, Cache: cache, limits: defaultLimits(), refuse: newRule().check}
}

// Each fetches pages side by side, one whose address is there several times once. It tells done of each as
// soon as it has it, and may do so from several goroutines; it returns when all are done.
func (c *Client) Each(ctx context.Context, urls []string, done func(i int, p Page, err error)) {
	tr := c.transport()
	defer tr.CloseIdleConnections()
	f := &fetcher{client: c, via: tr, room: c.Cache.shared()}
	places, first := map[string][]int{}, []string{}
	for i, u := range urls {
		if places[u] == nil {
			first = append(first, u)
		}
		places[u] = append(places[u], i)
	}
	next := make(chan string)
	var workers sync.WaitGroup
	for range min(parallel, len(first)) {
		workers.Go(func() {
			for u := range next {
				p, err := f.page(ctx, u)
				for _, i := range places[u] {
					done(i, p, err)
				}
			}
		})
	}
	for _, u := range first {
		next <- u
	}
	close(next)
	workers.Wait()
}

// transport makes the connections of one call: nothing stays behind it.
func (c *Client) transport() *http.Transport {
	return newTransport(c.resolver, func(a netip.Addr) error {
		if c.AllowPrivate {
			return nil
		}
		return c.refuse(a)
	})
}

// parseURL reads an address that a script gave.
func parseURL(text string) (*url.URL, error) {
	u, err := parseLink(nil, text)
	switch {
	case text == "":
		return nil, errors.New("the address is empty: one begins with http:// or https://")
	case hasPort(text), err == nil && u.Scheme == "":
		return nil, fmt.Errorf("%s: an address begins with http:// or https://", quoted(text))
	case err != nil:
		return nil, fmt.Errorf("%s is no URL", quoted(text))
	}
	return u, checkURL(u, text)
}

// parseLink reads an address that somebody gave, a script, a server or a page, relative to base if that is
// not nil. What may not stand in its query is encoded as browsers do it: net/url lets that as it is, and a
// space would break the line of the request.
func parseLink(base *url.URL, text string) (*url.URL, error) {
	read := url.Parse
	if base != nil {
		read = base.Parse
	}
	u, err := read(text)
	if err == nil {
		u.RawQuery = encodedQuery(u.RawQuery)
	}
	return u, err
}

// encodedQuery encodes what may not stand in a query. What is encoded stays so, and what separates its parts
// is one of them still.
func encodedQuery(raw string) string {
	var b strings.Builder
	for i := range len(raw) {
		switch c := raw[i]; {
		case c <= ' ', c >= 0x7f, c == '"', c == '<', c == '>':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hasPort tells whether a text is a host and its port, which as a URL would be a scheme and what it opens.
func hasPort(text string) bool {
	u, err := url.Parse("http://" + text)
	if err != nil || u.Hostname() == "" {
		return false
	}
	_, err = strconv.ParseUint(u.Port(), 10, 16)
	return err == nil
}

// checkURL says why an address cannot be fetched. Text is how it was given.
func checkURL(u *url.URL, text string) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s: only http and https addresses can be fetched", quoted(text))
	case u.Hostname() == "":
		return fmt.Errorf("%s has no host", quoted(text))
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("%s: there is no port %s: they are 1 to 65535", quoted(text), clip(port))
		}
	}
	return nil
}

// quoted is an address as it was given, but for a password.
func quoted(text string) string { return clip(discreet.URL(text)) }

// clip shortens what errors quote.
func clip(s string) string {
	const most = 200
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "..."
}
