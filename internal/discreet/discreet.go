// Package discreet shows addresses in messages without the passwords in them.
package discreet

import (
	"net/url"
	"strings"
)

// hidden stands in the place of what is not shown, as url.URL.Redacted has it.
const hidden = "xxxxx"

// URL is an address as it was given, but for its password. Of a text that is no address all is taken for
// a password that stands where one would: a slip in an address must not print it. Nor must one that makes a
// port of how a password begins, as in http://me:12#4@site.
func URL(text string) string {
	u, err := url.Parse(text)
	is := err == nil && u.Host != ""
	switch {
	case err == nil && u.User != nil:
		return u.Redacted()
	case is && u.Port() == "":
		return text
	}
	scheme, rest := "", text
	if before, after, found := strings.Cut(text, "://"); found {
		scheme, rest = before+"://", after
	}
	at := strings.LastIndex(rest, "@")
	if at < 0 {
		return text
	}
	if is { // the port is its first
		scheme += u.Hostname() + ":"
	}
	return scheme + hidden + rest[at:]
}
