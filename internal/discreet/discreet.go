// Package discreet shows addresses in messages without the passwords in them.
package discreet

import (
	"net/url"
	"strings"
)

// hidden stands in the place of what is not shown, as url.URL.Redacted has it.
const hidden = "xxxxx"

// URL is an address as it was given, but for its password. Of a text that is no address all is taken for
// a password that stands where one would: a slip in an address must not print it.
func URL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err == nil && u.User != nil:
		return u.Redacted()
	case err == nil && u.Host != "":
		return text
	}
	scheme, rest := "", text
	if before, after, found := strings.Cut(text, "://"); found {
		scheme, rest = before+"://", after
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = hidden + rest[at:]
	}
	return scheme + rest
}
