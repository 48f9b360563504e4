package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// refuse answers with a status, and says why.
func refuse(status int, media, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// What a server says instead of a page is part of the error, and never the page.
func TestRefusals(t *testing.T) {
	const bad = "the server answered 400 Bad Request"
	long := strings.Repeat("ä", 400)
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"JSON":    {refuse(400, "application/json", "{\"error\":\n\t\"missing parameter q\"}\n"), bad + `; it says: {"error": "missing parameter q"}`},
		"problem": {refuse(422, "application/problem+json", `{"title":"no"}`), `the server answered 422 Unprocessable Entity; it says: {"title":"no"}`},
		"HTML": {
			refuse(503, "text/html", "<title>Down</title><script>x()</script><nav>Home</nav><main><h1>We are <b>down</b>.</h1><p>Try &lt;later&gt;</p></main>", "Retry-After", "9"),
			"the server answered 503 Service Unavailable; it wants to be asked again after 9 s; it says: We are down. Try <later>",
		},
		"a title":      {refuse(403, "text/html", "<title>Just a moment</title><div id=x></div>"), "the server answered 403 Forbidden; it says: Just a moment"},
		"no type":      {refuse(400, "", "<!DOCTYPE html><p>no</p>"), bad + "; it says: no"},
		"the status":   {refuse(404, "text/html", "<h1>404 Not found</h1>"), "the server answered 404 Not Found"},
		"nothing":      {refuse(400, "text/plain", " \n"), bad},
		"a picture":    {refuse(400, "image/png", "\x89PNG\r\n"), bad},
		"a PDF":        {refuse(400, "application/pdf", "%PDF-1.4"), bad},
		"binary":       {refuse(400, "text/plain", "a\x00b"), bad},
		"controls":     {refuse(400, "text/plain", "a\x1b[31mb\x07\u202e\u200b\u0085c\r\nd\u2028e\u00a0f"), bad + "; it says: a[31mb c d e f"},
		"too long":     {refuse(400, "text/plain; charset=utf-8", long), bad + "; it says: " + long[:600] + "..."},
		"much longer":  {refuse(400, "text/plain", "x"+strings.Repeat("ä", 100_000)), bad + "; it says: x" + strings.Repeat("ä", 299) + "..."},
		"gzip":         {refuse(400, "text/plain", string(zip(t, "packed")), "Content-Encoding", "gzip"), bad + "; it says: packed"},
		"a bomb":       {refuse(400, "text/plain", string(zip(t, strings.Repeat("b ", 1<<20))), "Content-Encoding", "gzip"), bad + "; it says: " + strings.Repeat("b ", 150) + "..."},
		"half of gzip": {refuse(400, "text/plain", string(zip(t, "packed")[:12]), "Content-Encoding", "gzip"), bad + "; it says: p"},
		"no gzip":      {refuse(400, "text/plain", "plain", "Content-Encoding", "br"), bad},
		"latin":        {refuse(400, "text/plain; charset=latin1", "caf\xe9"), bad + "; it says: café"},
		"deep":         {refuse(400, "text/html", strings.Repeat("<div>", 2000)+"deep"), bad + "; it says: deep"},
		"a redirect":   {refuse(300, "text/plain", "choose"), "the server answered 300 Multiple Choices; it says: choose"},
	} {
		t.Run(name, func(t *testing.T) {
			s := siteOf(t, c.h)
			p, err := fetch(t.Context(), local(nil), s.URL)
			if err == nil || err.Error() != s.URL+": "+c.want || p != (Page{}) {
				t.Errorf("%+v, %q\nwant %q", p, err, c.want)
			}
		})
	}
}

// A server may show what it was asked with.
func TestRefusalHidesPassword(t *testing.T) {
	s := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		http.Error(w, user+" may not come with "+password+", which is "+r.Header.Get("Authorization"), http.StatusForbidden)
	}})
	address := strings.Replace(s.URL, "http://", "http://me:S3cret@", 1)
	wants(t, local(nil), address, "403 Forbidden; it says: me may not come with xxxxx, which is Basic xxxxx")
}

// stalling begins to answer and never ends.
func stalling(t *testing.T, status int, text string) *httptest.Server {
	t.Helper()
	return site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}})
}

// What does not come keeps nobody from the status.
func TestRefusalIsNotWaitedFor(t *testing.T) {
	s := stalling(t, http.StatusBadRequest, "a beginning")
	c := local(nil)
	c.limits.said = 300 * time.Millisecond
	wants(t, c, s.URL, "the server answered 400 Bad Request; it says: a beginning")
	c.limits.said = -1
	wants(t, c, s.URL, "the server answered 400 Bad Request")
}

// A body that breaks off within a character is what came before it.
func TestRefusalBreaksOff(t *testing.T) {
	s := stalling(t, http.StatusNotFound, "größe fehlt \xc3")
	c := local(nil)
	c.limits.said = 300 * time.Millisecond
	wants(t, c, s.URL, "the server answered 404 Not Found; it says: größe fehlt")
}

// Where others take all the room the status is told all the same.
func TestRefusalNeedsNoRoom(t *testing.T) {
	s := siteOf(t, refuse(404, "text/plain", "gone"))
	cache := &Cache{}
	taken := cache.shared().extracting
	for range cap(taken) {
		taken <- struct{}{}
	}
	c := local(cache)
	c.limits.time, c.limits.said = 10*time.Second, 100*time.Millisecond
	wants(t, c, s.URL, "the server answered 404 Not Found")
}
