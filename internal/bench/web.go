package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/web"
	"github.com/hermes-exec/hermes-exec/internal/web/webtest"
)

// What is extracted: as many pages of this size, from a server here.
const (
	webPages    = 20
	webPageSize = 200 << 10
)

// webRows measures what pages take together and one of them alone, in turns. Servers differ: the first
// page is answered after 50 ms and the last one, the slowest, after 500 ms. Where all are answered at
// once only the processors count, and the ratio can be no less than pages by processors.
func webRows(ctx context.Context, _ setup) ([]row, error) {
	page := webtest.Page(webPageSize)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d, err := time.ParseDuration(strings.TrimPrefix(r.URL.Path, "/")); err == nil {
			select {
			case <-time.After(d):
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}))
	defer server.Close()
	var slow, quick []string
	for i := range webPages {
		slow = append(slow, fmt.Sprintf("%s/%dms", server.URL, 50+450*i/(webPages-1)))
		quick = append(quick, fmt.Sprintf("%s/0s?page=%d", server.URL, i)) // equal ones are fetched once
	}
	var rows []row
	for _, s := range []struct {
		name string
		urls []string
		goal goal
	}{
		{"answered after 50 to 500 ms, against the slowest alone", slow, ratioAtMost(1.5)},
		{"answered at once, against one alone", quick, goal{}},
	} {
		all, one := extraction(ctx, s.urls), extraction(ctx, s.urls[webPages-1:])
		if _, err := all(); err != nil { // warm
			return rows, err
		}
		p, f, err := interleave(7, all, one)
		if err != nil {
			return rows, err
		}
		name := fmt.Sprintf("web_extract, %d pages of %d KB %s", webPages, webPageSize>>10, s.name)
		rows = append(rows, newRow(name, "ms", ms(p), ms(f), s.goal))
	}
	return rows, nil
}

// extraction makes a sample of one call, by a client that has cached nothing.
func extraction(ctx context.Context, urls []string) sample {
	return func() ([]time.Duration, error) {
		failed := make(chan error, len(urls))
		start := time.Now()
		web.NewClient(true, nil).Each(ctx, urls, func(i int, p web.Page, err error) {
			if err == nil && len(p.Text) < webPageSize/4 {
				err = fmt.Errorf("%d bytes of text", len(p.Text))
			}
			if err != nil {
				failed <- fmt.Errorf("%s: %w", urls[i], err)
			}
		})
		took := time.Since(start)
		select {
		case err := <-failed:
			return nil, err
		default:
			return []time.Duration{took}, nil
		}
	}
}
