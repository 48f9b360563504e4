package discreet

import "testing"

func TestURL(t *testing.T) {
	for text, want := range map[string]string{
		"https://site.example/a?b=c@d": "https://site.example/a?b=c@d",
		"https://me:secret@site/a":     "https://me:xxxxx@site/a",
		"https://me@site/a":            "https://me@site/a",
		"me:secret@site":               "xxxxx@site",
		"http://me:se%cret@site":       "http://xxxxx@site", // it does not parse
		"http://me:s@cret@si te":       "http://xxxxx@si te",
		"http://me:12345#x@site/":      "http://me:xxxxx@site/",
		"http://me:2024?x@site/":       "http://me:xxxxx@site/",
		"http://me:1/x@site/":          "http://me:xxxxx@site/",
		"http://localhost:80/@vite":    "http://localhost:xxxxx@vite",
		"http://[::1]:80/a":            "http://[::1]:80/a",
		"http://":                      "http://",
		"not a url":                    "not a url",
		"localhost:8080/x":             "localhost:8080/x",
		"":                             "",
	} {
		if got := URL(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
