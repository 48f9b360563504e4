package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hermes-exec/hermes-exec/internal/near"
)

// value is what one place says about one key: texts from a flag or a variable, or a node of a file.
type value struct {
	texts    []string
	variable bool       // texts is one text that may hold a list
	node     *yaml.Node // nil unless from a file
	expand   func(string) string
	origin   string
	path     func(string) string // makes a path of the host absolute
}

// String is the value as it was given, for messages.
func (v value) String() string {
	if v.node == nil {
		return strings.Join(v.texts, ",")
	}
	return v.node.Value
}

// text is a single value.
func (v value) text() (string, error) {
	switch {
	case v.node == nil:
		return v.texts[len(v.texts)-1], nil
	case v.node.Kind != yaml.ScalarNode:
		return "", errors.New("want a single value")
	default:
		return v.expand(v.node.Value), nil
	}
}

// list is a list of values. A text is split at split, unless that is "".
func (v value) list(split string) ([]string, error) {
	texts := v.texts
	if v.node != nil {
		switch v.node.Kind {
		case yaml.ScalarNode:
			texts = []string{v.expand(v.node.Value)}
		case yaml.SequenceNode:
			return v.scalars()
		default:
			return nil, errors.New("want a list")
		}
	}
	items := []string{}
	for _, text := range texts {
		for _, item := range splitList(text, split, v.variable) {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
	}
	return items, nil
}

// splitList splits a text at sep, and the value of a variable at line ends too.
func splitList(text, sep string, variable bool) []string {
	parts := []string{text}
	if variable {
		parts = strings.Split(text, "\n")
	}
	if sep == "" {
		return parts
	}
	items := []string{}
	for _, part := range parts {
		items = append(items, strings.Split(part, sep)...)
	}
	return items
}

// scalars are the items of a sequence in a file.
func (v value) scalars() ([]string, error) {
	items := []string{}
	for _, item := range v.node.Content {
		item = resolve(item)
		if item.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: want a list of plain values", item.Line)
		}
		if text := strings.TrimSpace(v.expand(item.Value)); text != "" && !isNull(item) {
			items = append(items, text)
		}
	}
	return items, nil
}

// table is a mapping of names to single values; null is "". A list of NAME=value does as well.
func (v value) table() (map[string]string, error) {
	if v.node.Kind != yaml.MappingNode {
		list, err := v.list("")
		if err != nil {
			return nil, errors.New("want a mapping of names to values")
		}
		return assignments(list)
	}
	table := map[string]string{}
	for _, p := range pairs(v.node) {
		name := p.name.Value
		if p.node.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: %s: want a single value", p.node.Line, name)
		}
		if table[name] = ""; !isNull(p.node) {
			table[name] = v.expand(p.node.Value)
		}
	}
	return table, nil
}

// assignments reads a list of NAME=value.
func assignments(list []string) (map[string]string, error) {
	table := map[string]string{}
	for i, item := range list {
		name, text, ok := strings.Cut(item, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("item %d is not NAME=value", i+1) // which may be a secret
		}
		table[name] = text
	}
	return table, nil
}

// maxDuration is longer than anything that is meant.
const maxDuration = 10 * 365 * 24 * time.Hour

// duration reads seconds, or a duration as 90s, 5m or 1h30m. Least is 0 or the least above it.
func duration(least time.Duration) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil {
			seconds, ferr := strconv.ParseFloat(text, 64)
			if ferr != nil && !errors.Is(ferr, strconv.ErrRange) || math.IsNaN(seconds) {
				return 0, fmt.Errorf("%q is not a time: give seconds (300) or 90s, 5m, 1h", text)
			}
			d = time.Duration(max(-1, min(seconds, maxDuration.Seconds()+1)) * float64(time.Second))
		}
		switch {
		case d < least && least > 0:
			return 0, fmt.Errorf("%q is too short: want more than 0 seconds", text)
		case d < least:
			return 0, fmt.Errorf("%q is too short: want 0 seconds or more", text)
		case d > maxDuration:
			return 0, fmt.Errorf("%q is too long: want at most ten years", text)
		}
		return d, nil
	}
}

// whole reads a whole number from 1.
func whole(most int) func(string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.ParseInt(digits(text), 10, 64)
		switch {
		case errors.Is(err, strconv.ErrSyntax):
			return 0, fmt.Errorf("%q is not a whole number", text)
		case err != nil || n < 1 || n > int64(most):
			return 0, fmt.Errorf("%q is out of range: want 1 to %d", text, most)
		}
		return int(n), nil
	}
}

// digits removes the underscores that YAML allows inside numbers.
func digits(text string) string {
	if text == "" || strings.Trim(text, "_") != text {
		return text
	}
	return strings.ReplaceAll(text, "_", "")
}

// size reads a number of bytes, or of KiB, MiB, GiB with a suffix. A bare number counts unit bytes.
func size(unit, least, most int64) func(string) (int64, error) {
	return func(text string) (int64, error) {
		number, suffix := cutSuffix(text)
		scale, ok := map[string]int64{"": unit, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}[suffix]
		n, err := strconv.ParseInt(digits(number), 10, 64)
		switch {
		case errors.Is(err, strconv.ErrSyntax) || !ok:
			return 0, fmt.Errorf("%q is not a size: give a whole number, or one with k, m or g", text)
		case err != nil || n < 0 || n > most/scale || n*scale < least:
			return 0, fmt.Errorf("%q is out of range: want %s to %s", text, bytesText(least), bytesText(most))
		}
		return n * scale, nil
	}
}

// cutSuffix takes a size apart: 2g, 2GB and 2GiB are the same.
func cutSuffix(text string) (number, suffix string) {
	number = strings.TrimRight(text, "bBiIkKmMgGtT ")
	suffix = strings.ToLower(strings.TrimSpace(text[len(number):]))
	if len(suffix) > 1 {
		suffix = strings.TrimSuffix(strings.TrimSuffix(suffix, "b"), "i")
	}
	return number, suffix
}

// bytesText writes a size with the largest suffix that is exact.
func bytesText(n int64) string {
	for _, s := range []struct {
		unit int64
		name string
	}{{1 << 40, "t"}, {1 << 30, "g"}, {1 << 20, "m"}, {1 << 10, "k"}} {
		if n >= s.unit && n%s.unit == 0 {
			return strconv.FormatInt(n/s.unit, 10) + s.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// cpus reads a number of processors.
func cpus(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) {
		return 0, fmt.Errorf("%q is not a number of CPUs", text)
	}
	if n < 0.01 || n > 4096 {
		return 0, fmt.Errorf("%q is out of range: want 0.01 to 4096", text)
	}
	return n, nil
}

// boolean reads yes and no in the spellings that YAML and shells know.
func boolean(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

// oneOf reads one of a few words, in any case.
func oneOf[T ~string](words ...T) func(string) (T, error) {
	return func(text string) (T, error) {
		word := T(strings.ToLower(text))
		if slices.Contains(words, word) {
			return word, nil
		}
		return "", fmt.Errorf("%q is not known: %s", text, near.Or(text, plainTexts(words), "want "+join(words)))
	}
}

// join lists words for a message.
func join[T ~string](words []T) string { return strings.Join(plainTexts(words), ", ") }

func plainTexts[T ~string](words []T) []string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return texts
}

// plain takes a text as it is.
func plain(text string) (string, error) {
	if strings.ContainsRune(text, 0) {
		return "", errors.New("a NUL cannot stand in it") // the text may be a secret
	}
	return text, nil
}

// names lists the names of a table, for listings that must not tell values.
func names(table map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ",")
}
