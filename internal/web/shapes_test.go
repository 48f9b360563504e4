package web

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every page of testdata has a golden file; UPDATE=1 writes it.
func TestPageShapes(t *testing.T) {
	pages, err := filepath.Glob("testdata/pages/*.html")
	if err != nil || len(pages) < 12 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, name := range pages {
		t.Run(filepath.Base(name), func(t *testing.T) {
			body, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			at := &url.URL{Scheme: "https", Host: "site.example", Path: "/docs/page.html"}
			p, err := document{url: at, media: "text/html", body: body}.page(defaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			got := "# " + p.Title + "\n\n" + shorten(p.Text) + "\n"
			golden := strings.TrimSuffix(name, ".html") + ".md"
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s\nis not %s, which is\n%s", got, golden, want)
			}
		})
	}
}

// shorten leaves out the middle of a line that nobody would read.
func shorten(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if len(l) > 2000 {
			lines[i] = l[:200] + "[...]" + l[len(l)-200:]
		}
	}
	return strings.Join(lines, "\n")
}
