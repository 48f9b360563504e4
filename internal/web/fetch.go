package web

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// agent is how servers see us.
const agent = "Mozilla/5.0 (compatible; hermes-exec)"

// fetcher is one call of a client.
type fetcher struct {
	client *Client
	via    http.RoundTripper
	room   *room
}

// document is what a server sent.
type document struct {
	url    *url.URL // where it was in the end, without credentials
	media  string   // its type in lower case, without parameters
	params map[string]string
	body   []byte
}

// page fetches one page. One without text has its title beside the error.
func (f *fetcher) page(ctx context.Context, text string) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, context.Cause(ctx)
	}
	u, err := parseURL(strings.TrimSpace(text))
	if err != nil {
		return Page{}, err
	}
	limit := f.client.limits.time
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the page took longer than %v", limit))
	defer cancel()
	p, err := f.get(ctx, u)
	if err == nil {
		return p, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return p, fmt.Errorf("%s: %w", clip(u.Redacted()), err)
}

// get follows redirects to a page.
func (f *fetcher) get(ctx context.Context, u *url.URL) (Page, error) {
	for hops := 0; ; hops++ {
		if hops > f.client.limits.redirects {
			return Page{}, fmt.Errorf("more than %d redirects", f.client.limits.redirects)
		}
		next, p, err := f.step(ctx, u)
		if err != nil && hops > 0 {
			err = fmt.Errorf("redirected to %s: %w", clip(u.Redacted()), err)
		}
		if err != nil || next == nil {
			return p, err
		}
		u = next
	}
}

// step asks one server: for a page, or where to go on.
func (f *fetcher) step(ctx context.Context, u *url.URL) (next *url.URL, p Page, err error) {
	old, kept := f.client.Cache.get(u)
	if old.isFresh() {
		return nil, old.page, nil
	}
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	req := newRequest(asking, u)
	if kept {
		old.ask(req.Header)
	}
	resp, err := f.via.RoundTrip(req)
	if err != nil {
		return nil, p, unanswered(err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && kept:
		f.client.Cache.renew(u, resp.Header)
		return nil, old.page, nil
	case redirects(resp):
		next, err = target(u, resp.Header.Get("Location"))
		return next, p, err
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, p, f.refused(ctx, u, resp, giveUp)
	case resp.StatusCode == http.StatusPartialContent && !isWhole(resp.Header.Get("Content-Range")):
		return nil, p, errors.New("only a part of the page came: the server answered 206 Partial Content, although all of it was asked for")
	}
	p, err = f.receive(ctx, u, resp)
	if err == nil {
		f.client.Cache.put(u, resp.Header, p)
	}
	return nil, p, err
}

// receive reads a body and makes a page of it.
func (f *fetcher) receive(ctx context.Context, u *url.URL, resp *http.Response) (Page, error) {
	d := document{url: bare(u)}
	d.media, d.params = mediaType(resp.Header.Get("Content-Type"))
	if err := d.supported(); err != nil {
		return Page{}, err
	}
	body, release, err := f.read(ctx, resp)
	defer release()
	if err != nil {
		return Page{}, err
	}
	d.body = body
	select {
	case f.room.extracting <- struct{}{}:
		defer func() { <-f.room.extracting }()
	case <-ctx.Done():
		return Page{}, context.Cause(ctx)
	}
	p, err := d.page(f.client.limits)
	if ctx.Err() != nil { // it took longer than the call has
		return Page{}, context.Cause(ctx)
	}
	if err == nil && p.Text == "" {
		err = d.empty(resp.StatusCode)
	}
	return p, err
}

// empty says what came where there is nothing to show. A page whose scripts make its text would look like
// one that has none.
func (d document) empty(status int) error {
	came := fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))
	if len(d.body) == 0 {
		return fmt.Errorf("the page is empty: %s and no bytes", came)
	}
	of, more := "", ""
	if d.media != "" {
		of = " of " + clip(d.media)
	}
	if f, _ := formOf(d.media); f == asHTML || f == unknown {
		more = "; scripts that may make some are not run"
	}
	return fmt.Errorf("the page has no text: %s and %d bytes%s%s", came, len(d.body), of, more)
}

func newRequest(ctx context.Context, u *url.URL) *http.Request {
	req := (&http.Request{Method: http.MethodGet, URL: bare(u), Host: u.Host, Header: http.Header{
		"User-Agent":      {agent},
		"Accept":          {"text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.9,application/pdf;q=0.9,*/*;q=0.5"},
		"Accept-Language": {"en;q=0.9,*;q=0.5"},
		"Accept-Encoding": {"gzip, deflate"},
	}}).WithContext(ctx)
	if u.User != nil {
		password, _ := u.User.Password()
		req.SetBasicAuth(u.User.Username(), password)
	}
	return req
}

// bare is an address without its credentials and its fragment.
func bare(u *url.URL) *url.URL {
	b := *u
	b.User, b.Fragment, b.RawFragment = nil, "", ""
	return &b
}

func redirects(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// isWhole tells whether the part that an answer has is all that there is.
func isWhole(contentRange string) bool {
	var first, last, size int64
	n, err := fmt.Sscanf(contentRange, "bytes %d-%d/%d", &first, &last, &size)
	return err == nil && n == 3 && first == 0 && last == size-1
}

// target is where a server sends us. The credentials that the script gave are for their own server
// alone; those that a server gives are not used at all.
func target(from *url.URL, location string) (*url.URL, error) {
	to, err := parseLink(from, location)
	if err != nil {
		return nil, fmt.Errorf("redirected to %s, which is no URL", quoted(location))
	}
	to.User = nil
	if err := checkURL(to, location); err != nil {
		return nil, fmt.Errorf("redirected: %w", err)
	}
	if to.Scheme == from.Scheme && strings.EqualFold(to.Host, from.Host) {
		to.User = from.User
	}
	return to, nil
}

// mediaType reads a Content-Type; what is no type is none. Of several in one, which programs behind each
// other have added, it is the first.
func mediaType(header string) (string, map[string]string) {
	media, params, err := mime.ParseMediaType(header)
	if first, _, several := strings.Cut(header, ","); err != nil && several {
		header = first
		media, params, err = mime.ParseMediaType(header)
	}
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		media, _, _ = strings.Cut(header, ";")
		return strings.ToLower(strings.TrimSpace(media)), nil
	}
	return media, params
}
