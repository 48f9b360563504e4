//go:build unix

package hermes_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
)

// lines is a server of one long page.
func lines(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	for i := range 20_000 {
		fmt.Fprintln(&page, "line", i)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page.String()) }))
	t.Cleanup(s.Close)
	return s.URL
}

// A script reads what was cut from a page, on the host, wherever it runs.
func TestLongPageIsReadBack(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		o.Settings.Web.AllowPrivate = true
		r := open(t, o).Run(t.Context(), hermes.Script{Code: fmt.Appendf(nil, `import re
from hermes_tools import read_file, web_extract
row = web_extract(%q)["results"][0]
path = re.search(r'read_file\("(.*)"\)', row["content"])[1]
print(row["error"], len(row["content"]), read_file(path, offset=10001, limit=1)["content"], end="")`, lines(t))})
		if r.Output != "None 50000 line 10000\n" {
			t.Errorf("%+v", r)
		}
	})
}

// A later cell of the session may read it too; settings are those of the caller.
func TestLongPageOfASession(t *testing.T) {
	c := newCells(t, "local")
	url := lines(t)
	code := fmt.Sprintf("import re\nfrom hermes_tools import read_file, web_extract\nrow = web_extract(%q)['results'][0]", url)
	c.prints("s", code+"\nprint('is not public' in row['error'])", "True\n")
	c.options.Settings.Web.AllowPrivate = true
	r := c.run("s", code+"\npath = re.search(r'read_file\\(\"(.*)\"\\)', row['content'])[1]\nprint(path)")
	if !strings.HasSuffix(r.Output, ".txt\n") {
		t.Fatalf("%+v", r)
	}
	c.prints("s", "print(read_file(path, offset=2, limit=1)['content'], end='')", "line 1\n")
}
