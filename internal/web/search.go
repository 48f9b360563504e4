package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Result is what a search found.
type Result struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Description string `json:"description"`
}

// provider is a search engine. It makes requests and reads answers; Search does the rest.
type provider interface {
	// name is how messages call it.
	name() string

	// setting is the one that holds its address, "" if that is always the same.
	setting() string

	// request asks for a page of results, the first being 0; limit is how many are wanted in all.
	request(ctx context.Context, query string, limit, page int) (*http.Request, error)

	// results reads an answer of status 200. More tells whether there may be another page.
	results(body []byte) (found []Result, more bool, err error)

	// complaint reads what an answer of another status says, "" if it says nothing.
	complaint(status int, body []byte) string
}

const (
	searchTime  = 30 * time.Second // for one request
	searchBytes = 8 << 20          // of one answer
	searchPages = 10               // of results at most
	searchTries = 3                // of one request that is turned away for now
	searchWait  = 15 * time.Second // that a provider may ask for before the next try
)

// Searcher asks one provider. It is safe for concurrent use.
type Searcher struct {
	provider provider
	check    func(netip.Addr) error
	pause    func(ctx context.Context, d time.Duration) error
}

// Search returns what the provider finds, limit results at most. Where only its first pages came, the note
// says why there are no more.
func (s *Searcher) Search(ctx context.Context, query string, limit int) (found []Result, note string, err error) {
	tr := newTransport(nil, s.check)
	defer tr.CloseIdleConnections()
	found, seen := []Result{}, map[string]bool{}
	for page := 0; page < searchPages && len(found) < limit; page++ {
		results, more, err := s.page(ctx, tr, query, limit, page)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return nil, "", fmt.Errorf("%s: %w", s.provider.name(), cause)
			}
			if len(found) > 0 {
				return found, s.partly(page, err), nil
			}
			return nil, "", fmt.Errorf("%s: %w", s.provider.name(), err)
		}
		before := len(found)
		for _, r := range results {
			if !seen[r.URL] && len(found) < limit {
				seen[r.URL] = true
				found = append(found, r)
			}
		}
		if !more || len(found) == before {
			break
		}
	}
	return found, "", nil
}

// partly says why a page, counted from 0, did not come behind others that did. Scripts look for the word
// error in what they get, so that an answer with results must not have it.
func (s *Searcher) partly(page int, err error) string {
	why := regexp.MustCompile("(?i)error").ReplaceAllLiteralString(err.Error(), "failure")
	return fmt.Sprintf("page %d of the results did not come from %s, so there may be more: %s", page+1, s.provider.name(), why)
}

// page asks for one page, again if the provider wants to be asked later and that is soon.
func (s *Searcher) page(ctx context.Context, via http.RoundTripper, query string, limit, page int) ([]Result, bool, error) {
	for try := 1; ; try++ {
		a, err := s.ask(ctx, via, query, limit, page)
		if err != nil {
			return nil, false, err
		}
		if a.status == http.StatusOK {
			return s.provider.results(a.body)
		}
		err = s.refused(a)
		wait, again := a.again(try)
		if again && try == searchTries {
			err = fmt.Errorf("%w; it was asked %d times", err, try)
		}
		if !again || try == searchTries {
			return nil, false, err
		}
		if deadline, ok := ctx.Deadline(); wait > searchWait || ok && time.Until(deadline) < wait {
			return nil, false, fmt.Errorf("%w; it wants to be asked again in %s, which is too long to wait", err, soon(wait))
		}
		if err := s.pause(ctx, wait); err != nil {
			return nil, false, err
		}
	}
}

// answer is what came back.
type answer struct {
	from   *url.URL // without credentials
	status int
	header http.Header
	body   []byte
}

func (s *Searcher) ask(ctx context.Context, via http.RoundTripper, query string, limit, page int) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, fmt.Errorf("no answer within %v", searchTime))
	defer cancel()
	req, err := s.provider.request(ctx, query, limit, page)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept", "application/json")
	// Not http.Client: a redirect would take the key to another host.
	resp, err := via.RoundTrip(req)
	if err != nil {
		err = unanswered(err)
	} else {
		defer resp.Body.Close()
		var body []byte
		body, err = io.ReadAll(&limited{wire{resp.Body, "answer"}, searchBytes, errors.New("the answer is too large")})
		if err == nil {
			return answer{req.URL, resp.StatusCode, resp.Header, body}, nil
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if setting := s.provider.setting(); setting != "" && resp == nil {
		err = fmt.Errorf("%w; is %s right, and does the instance run?", err, setting)
	}
	return answer{}, err
}

// refused says why there are no results.
func (s *Searcher) refused(a answer) error {
	what := fmt.Sprintf("the server answered %d %s", a.status, http.StatusText(a.status))
	if where := a.header.Get("Location"); where != "" && a.status/100 == 3 {
		what += " and sends to " + s.elsewhere(a.from, where)
	}
	if says := strings.Join(strings.Fields(s.provider.complaint(a.status, a.body)), " "); says != "" {
		what += ": " + clip(strings.ToValidUTF8(says, "\uFFFD"))
	}
	return errors.New(what)
}

// elsewhere says where a redirect leads, and what to do about it. The query, which is the script's, and what
// may be a password in it are no part of the address.
func (s *Searcher) elsewhere(from *url.URL, location string) string {
	const not = ", which is not followed"
	to, err := parseLink(from, location)
	if err != nil || checkURL(to, location) != nil {
		return quoted(location) + not
	}
	to.User, to.RawQuery, to.Fragment, to.RawFragment = nil, "", "", ""
	where := clip(to.String()) + not
	if setting := s.provider.setting(); setting != "" {
		to.Path, to.RawPath = strings.TrimSuffix(strings.TrimSuffix(to.Path, "/"), "/search"), ""
		where += ": if the instance is there, " + setting + " can be changed to " + clip(to.String())
	}
	return where
}

// again tells whether another try may help, and when.
func (a answer) again(try int) (time.Duration, bool) {
	switch a.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
	default:
		return 0, false
	}
	for _, name := range []string{"Retry-After", "X-RateLimit-Reset"} {
		first, _, _ := strings.Cut(a.header.Get(name), ",") // of several limits the shortest stands first
		if first = strings.TrimSpace(first); hasDigits(first) {
			return seconds(first), true
		}
		if at, err := http.ParseTime(a.header.Get(name)); err == nil {
			return max(0, time.Until(at)), true
		}
	}
	base := time.Second << (try - 1)
	return base + rand.N(base/2), true // calls side by side were all turned away together
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
