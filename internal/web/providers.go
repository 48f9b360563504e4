package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hermes-exec/hermes-exec/internal/discreet"
)

// Engines are the search engines that the operator has configured.
type Engines struct {
	Provider     string // the one to use: "searxng", "brave" or "tavily"; "" is the first that is configured
	SearxngURL   string
	BraveAPIKey  string
	TavilyAPIKey string
	AllowPrivate bool
}

// Unconfigured says why there is none to ask, "" if there is one.
func (e Engines) Unconfigured() string {
	_, why := e.choose()
	return why
}

// Searcher returns who asks the chosen engine.
func (e Engines) Searcher() (*Searcher, error) {
	p, why := e.choose()
	if p == nil {
		return nil, errors.New(why)
	}
	check := newRule().check
	if _, own := p.(searxng); own || e.AllowPrivate {
		check = func(netip.Addr) error { return nil } // the operator has named the place
	}
	return &Searcher{provider: p, check: check, pause: pause}, nil
}

// Chosen names the engine that is asked, and where it is if that is a setting; "" if there is none.
func (e Engines) Chosen() string {
	p, _ := e.choose()
	switch {
	case p == nil:
		return ""
	case p.setting() == "web.searxng_url":
		return p.name() + " at " + discreet.URL(e.SearxngURL)
	}
	return p.name()
}

// choose returns the engine to ask, or why there is none.
func (e Engines) choose() (provider, string) {
	all := []struct {
		name, key, value string
		make             func() provider
	}{
		{"searxng", "web.searxng_url", e.SearxngURL, func() provider { return searxng{e.SearxngURL} }},
		{"brave", "web.brave_api_key", e.BraveAPIKey, func() provider { return brave{"https://api.search.brave.com", e.BraveAPIKey} }},
		{"tavily", "web.tavily_api_key", e.TavilyAPIKey, func() provider { return tavily{"https://api.tavily.com", e.TavilyAPIKey} }},
	}
	for _, p := range all {
		switch {
		case e.Provider == p.name && p.value == "":
			return nil, "web.provider is " + p.name + ", and " + p.key + " is not set"
		case p.value != "" && (e.Provider == "" || e.Provider == p.name):
			return p.make(), ""
		}
	}
	return nil, "set web.searxng_url, web.brave_api_key or web.tavily_api_key in config.yaml, and web.provider where there are several"
}

// keep takes over a result, if it leads to a page.
func keep(found []Result, title, link, description scalar) []Result {
	address := strings.TrimSpace(string(link))
	if u, err := url.Parse(address); err != nil || checkURL(u, address) != nil {
		return found
	}
	return append(found, Result{Title: words(string(title)), URL: address, Description: words(string(description))})
}

// get is a request without a body.
func get(ctx context.Context, base, path string, query url.Values) (*http.Request, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("its address is no URL")
	}
	u = u.JoinPath(path)
	u.RawQuery = query.Encode()
	user := u.User
	u.User = nil
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err == nil && user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	return req, err
}

// searxng is an instance of SearXNG that the operator trusts.
type searxng struct{ base string }

func (searxng) name() string { return "SearXNG" }

func (searxng) setting() string { return "web.searxng_url" }

func (p searxng) request(ctx context.Context, query string, _, page int) (*http.Request, error) {
	return get(ctx, p.base, "search", url.Values{"q": {query}, "format": {"json"}, "pageno": {strconv.Itoa(page + 1)}})
}

func (searxng) results(body []byte) (found []Result, more bool, err error) {
	var a struct {
		Results []struct{ Title, URL, Content scalar }
		Silent  [][]scalar `json:"unresponsive_engines"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
			return nil, false, errors.New("the answer is a page and no JSON: web.searxng_url is to be the address below which /search lies")
		}
		return nil, false, unreadable(err)
	}
	if a.Results == nil {
		return nil, false, lacking("results", body)
	}
	for _, r := range a.Results {
		found = keep(found, r.Title, r.URL, r.Content)
	}
	if len(found) == 0 && len(a.Silent) > 0 {
		var silent []string
		for _, e := range a.Silent {
			words := make([]string, len(e))
			for i, word := range e {
				words[i] = string(word)
			}
			silent = append(silent, strings.Join(words, ": "))
		}
		slices.Sort(silent)
		return nil, false, fmt.Errorf("nothing was found, and these of its engines did not answer: %s", clip(strings.Join(silent, ", ")))
	}
	return found, len(found) > 0, nil
}

func (searxng) complaint(status int, _ []byte) string {
	switch status {
	case http.StatusForbidden:
		return "does its settings.yml list json under search.formats?"
	case http.StatusNotFound:
		return "is web.searxng_url the address below which /search lies?"
	}
	return ""
}

// brave is Brave Search.
type brave struct{ base, key string }

func (brave) name() string { return "Brave" }

func (brave) setting() string { return "" }

func (p brave) request(ctx context.Context, query string, limit, page int) (*http.Request, error) {
	req, err := get(ctx, p.base, "res/v1/web/search", url.Values{
		"q": {query}, "count": {strconv.Itoa(min(limit, 20))}, "offset": {strconv.Itoa(page)}, "text_decorations": {"false"}, "result_filter": {"web"},
	})
	if err == nil {
		req.Header.Set("X-Subscription-Token", p.key)
	}
	return req, err
}

func (brave) results(body []byte) (found []Result, more bool, err error) {
	var a struct {
		Query struct {
			More bool `json:"more_results_available"`
		}
		Type string
		Web  *struct {
			Results []struct{ Title, URL, Description scalar }
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, false, unreadable(err)
	}
	switch {
	case a.Web == nil && a.Type == "search": // it has found nothing
		return nil, false, nil
	case a.Web == nil || a.Web.Results == nil:
		return nil, false, lacking("web.results", body)
	}
	for _, r := range a.Web.Results {
		found = keep(found, r.Title, r.URL, r.Description)
	}
	return found, a.Query.More, nil
}

func (brave) complaint(status int, body []byte) string {
	var a struct {
		Error struct{ Detail string }
	}
	_ = json.Unmarshal(body, &a) // what is in another format says nothing
	return says(status, a.Error.Detail, "web.brave_api_key")
}

// tavily is Tavily.
type tavily struct{ base, key string }

func (tavily) name() string { return "Tavily" }

func (tavily) setting() string { return "" }

func (p tavily) request(ctx context.Context, query string, limit, _ int) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{"query": query, "max_results": min(limit, 20)})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/search", bytes.NewReader(body))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	return req, err
}

func (tavily) results(body []byte) (found []Result, more bool, err error) {
	var a struct {
		Results []struct{ Title, URL, Content scalar }
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, false, unreadable(err)
	}
	if a.Results == nil {
		return nil, false, lacking("results", body)
	}
	for _, r := range a.Results {
		found = keep(found, r.Title, r.URL, r.Content)
	}
	return found, false, nil
}

func (tavily) complaint(status int, body []byte) string {
	var a struct {
		Detail struct{ Error string }
	}
	_ = json.Unmarshal(body, &a) // what is in another format says nothing
	return says(status, a.Detail.Error, "web.tavily_api_key")
}

// says names the key that a provider does not take.
func says(status int, detail, key string) string {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return strings.TrimPrefix(detail+"; is "+key+" right?", "; ")
	}
	return detail
}
