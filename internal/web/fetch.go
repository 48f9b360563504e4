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

// page fetches one page.
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
	return Page{}, fmt.Errorf("%s: %w", clip(u.Redacted()), err)
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
	req := newRequest(ctx, u)
	old, kept := f.client.Cache.get(u)
	if kept {
		old.ask(req.Header)
	}
	resp, err := f.via.RoundTrip(req)
	if refused := (*addressError)(nil); errors.As(err, &refused) {
		err = refused // what dialled it would name the address once more
	}
	if err != nil {
		return nil, p, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && kept:
		return nil, old.page, nil
	case redirects(resp):
		next, err = target(u, resp.Header.Get("Location"))
		return next, p, err
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, p, statusError(resp)
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
	return d.page(f.client.limits)
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

// target is where a server sends us. The credentials that the script gave are for their own server
// alone; those that a server gives are not used at all.
func target(from *url.URL, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("redirected to %s, which is no URL", clip(location))
	}
	to.User = nil
	if err := checkURL(to); err != nil {
		return nil, fmt.Errorf("redirected: %w", err)
	}
	if to.Scheme == from.Scheme && strings.EqualFold(to.Host, from.Host) {
		to.User = from.User
	}
	return to, nil
}

func statusError(resp *http.Response) error {
	text := http.StatusText(resp.StatusCode)
	if text == "" {
		text = "status"
	}
	after := ""
	if wait := resp.Header.Get("Retry-After"); wait != "" {
		after = "; it wants to be asked again after " + clip(wait)
		if strings.Trim(wait, "0123456789") == "" {
			after += " s"
		}
	}
	return fmt.Errorf("the server answered %d %s%s", resp.StatusCode, text, after)
}

// mediaType reads a Content-Type; what is no type is none.
func mediaType(header string) (string, map[string]string) {
	media, params, err := mime.ParseMediaType(header)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		media, _, _ = strings.Cut(header, ";")
		return strings.ToLower(strings.TrimSpace(media)), nil
	}
	return media, params
}
