package web

import (
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
)

const (
	cachedPages = 256
	cachedBytes = 32 << 20
)

// Cache keeps the pages of one run whose servers can tell whether they have changed: they are asked
// every time. It also holds the room that the run's calls share: a script may make many at a time. The
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
}

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
	e := cached{page: p, etag: h.Get("ETag"), lastModified: h.Get("Last-Modified")}
	if c == nil || strings.Contains(strings.ToLower(h.Get("Cache-Control")), "no-store") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := key(u)
	if old, ok := c.pages[k]; ok {
		c.bytes -= old.size()
		delete(c.pages, k)
	}
	if e.etag == "" && e.lastModified == "" || len(c.pages) >= cachedPages || c.bytes+e.size() > cachedBytes {
		return
	}
	if c.pages == nil {
		c.pages = map[string]cached{}
	}
	c.pages[k] = e
	c.bytes += e.size()
}
