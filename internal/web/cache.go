package web

import (
	"errors"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	cachedPages = 256
	cachedBytes = 32 << 20
)

// Cache keeps the pages of one run whose servers say for how long they are good, or can tell whether they
// have changed: these are asked every time. It also holds the room that the run's calls share: a script may make many at a time. The
// zero value is empty; a nil one keeps nothing. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	room  *room
	pages map[string]cached
	bytes int
}

// room is for so many pages at once as memory and processors bear.
type room struct {
	large      chan struct{} // taken by those whose body is not modest
	extracting chan struct{} // taken by those that keep a processor busy
}

func newRoom() *room {
	return &room{large: make(chan struct{}, large), extracting: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// shared is the room of all who have this cache; who has none has room of its own.
func (c *Cache) shared() *room {
	if c == nil {
		return newRoom()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.room == nil {
		c.room = newRoom()
	}
	return c.room
}

type cached struct {
	page               Page
	etag, lastModified string
	until              time.Time // for so long it is not asked for again
}

// isFresh tells whether a page is as good as a new one.
func (c cached) isFresh() bool { return time.Now().Before(c.until) }

func (c cached) size() int { return len(c.page.Text) + len(c.page.Title) }

// ask makes a request one for what has changed.
func (c cached) ask(h http.Header) {
	if c.etag != "" {
		h.Set("If-None-Match", c.etag)
	}
	if c.lastModified != "" {
		h.Set("If-Modified-Since", c.lastModified)
	}
}

// key is the address with its credentials: others see other pages.
func key(u *url.URL) string {
	k := *u
	k.Fragment, k.RawFragment = "", ""
	return k.String()
}

func (c *Cache) get(u *url.URL) (cached, bool) {
	if c == nil {
		return cached{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.pages[key(u)]
	return e, ok
}

// put keeps a page, if its server wants that and there is room.
func (c *Cache) put(u *url.URL, h http.Header, p Page) {
	e := cached{page: p, etag: h.Get("ETag"), lastModified: h.Get("Last-Modified"), until: goodUntil(u, h)}
	if c == nil || strings.Contains(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), "no-store") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := key(u)
	if old, ok := c.pages[k]; ok {
		c.bytes -= old.size()
		delete(c.pages, k)
	}
	if e.etag == "" && e.lastModified == "" && !e.isFresh() || len(c.pages) >= cachedPages || c.bytes+e.size() > cachedBytes {
		return
	}
	if c.pages == nil {
		c.pages = map[string]cached{}
	}
	c.pages[k] = e
	c.bytes += e.size()
}

// renew takes over for how long a page that has not changed is good now.
func (c *Cache) renew(u *url.URL, h http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.pages[key(u)]; ok {
		e.until = goodUntil(u, h)
		c.pages[key(u)] = e
	}
}

// goodUntil is when an answer has to be asked for again, by its max-age. One that was given to a user, or
// that depends on more than its address, is asked for every time.
func goodUntil(u *url.URL, h http.Header) (until time.Time) {
	if u.User != nil || strings.Contains(strings.Join(h.Values("Vary"), ","), "*") {
		return until
	}
	for part := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "no-store", "no-cache":
			return time.Time{}
		case "max-age":
			until = time.Now().Add(seconds(strings.Trim(value, `"`)) - seconds(h.Get("Age")))
		}
	}
	return until
}

// seconds reads a time that a header tells in seconds. What is no number is none, and no time is longer than a year.
func seconds(text string) time.Duration {
	const most = 365 * 24 * 60 * 60
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return time.Duration(min(n, most)) * time.Second
}
