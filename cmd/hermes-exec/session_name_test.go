package main

import (
	"strings"
	"testing"
)

func TestSessionName(t *testing.T) {
	for name, want := range map[string]string{
		"work":                   "",
		"day 2: naïve 数据 👍":      "",
		"e\u0301":                "", // a letter in two runes
		strings.Repeat("n", 255): "",
		strings.Repeat("n", 256): "may have 255 bytes, this has 256",
		"a\x1b[31m":              `"a\x1b[31m" is no name for a session: U+001B`,
		"a\nb":                   `"a\nb" is no name for a session: U+000A`,
		"a\u202eb":               `"a\u202eb" is no name for a session: U+202E`,
		"a\u200bb":               `"a\u200bb" is no name for a session: U+200B`,
		"\ufeffa":                `"\ufeffa" is no name for a session: U+FEFF`,
		"a\u2028b":               `"a\u2028b" is no name for a session: U+2028`,
		"a\u0085b":               `"a\u0085b" is no name for a session: U+0085`,
		"a\xffb":                 `"a\xffb" is no name for a session: it is not UTF-8`,
	} {
		err := checkSessionName(name)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
