package output

import (
	"bytes"
	"cmp"
	"slices"
)

// MinSecret is the length in bytes below which a value is no secret: masking short values would
// eat ordinary words and numbers.
const MinSecret = 8

// mask is what stands where a secret stood.
const mask = "***"

// Secrets are values that must not be shown. A nil *Secrets knows none. It is safe for concurrent
// use.
type Secrets struct {
	values [][]byte
	max    int // the length of the longest
}

// NewSecrets returns those of values that are MinSecret bytes or longer.
func NewSecrets(values ...string) *Secrets {
	s := &Secrets{}
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		if len(v) >= MinSecret {
			s.values = append(s.values, []byte(v))
			s.max = max(s.max, len(v))
		}
	}
	return s
}

// Mask replaces every secret in text.
func (s *Secrets) Mask(text string) string {
	if s == nil || len(s.values) == 0 {
		return text
	}
	raw := []byte(text)
	spans := s.spans(raw)
	if len(spans) == 0 {
		return text
	}
	masked, _, _ := replace(raw, 0, len(raw), spans, mask)
	return string(masked)
}

// longest returns the length of the longest secret.
func (s *Secrets) longest() int {
	if s == nil {
		return 0
	}
	return s.max
}

// span is the half-open range of bytes that something covers.
type span struct{ from, to int }

// spans finds every secret in p, in order; secrets that overlap are one span.
func (s *Secrets) spans(p []byte) []span {
	if s == nil {
		return nil
	}
	var found []span
	for _, v := range s.values {
		for at := 0; ; {
			i := index(p[at:], v)
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(v)})
			at += i + 1 // the next may overlap this one
		}
	}
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := found[:1]
	for _, f := range found[1:] {
		if last := &merged[len(merged)-1]; f.from < last.to {
			last.to = max(last.to, f.to)
		} else {
			merged = append(merged, f)
		}
	}
	return merged
}

// vector is the length up to which bytes.Index compares whole vectors; beyond it, it hashes, which
// is several times slower.
const vector = 32

// index is bytes.Index, fast for long values.
func index(p, v []byte) int {
	if len(v) <= vector {
		return bytes.Index(p, v)
	}
	for at := 0; ; {
		i := bytes.Index(p[at:], v[:vector])
		if i < 0 {
			return -1
		}
		if at += i; bytes.HasPrefix(p[at:], v) {
			return at
		}
		at++
	}
}

// beginning returns the length of the longest end of p with which a secret begins that p does not
// hold in full.
func (s *Secrets) beginning(p []byte) int {
	if s == nil {
		return 0
	}
	longest := 0
	for _, v := range s.values {
		end := p[len(p)-min(len(p), len(v)-1):]
		for len(end) > longest {
			i := bytes.IndexByte(end, v[0])
			if i < 0 {
				break
			}
			if end = end[i:]; bytes.HasPrefix(v, end) {
				longest = max(longest, len(end))
				break
			}
			end = end[1:]
		}
	}
	return longest
}
