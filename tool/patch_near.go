package tool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/text/unicode/norm"
)

const (
	maxNearLines = 2000 // of a text whose like is looked for
	maxNearDiff  = 1500 // bytes that are shown
)

// nearest shows where a text has most in common with one that it does not hold, for whoever wanted to
// replace that; the text begins behind line from. It is "" if nothing is like it.
func nearest(text string, from int, wanted string) string {
	if byLine("it", text) != nil || strings.Count(wanted, "\n") > maxNearLines {
		return ""
	}
	lines, part := splitLines(text), splitLines(wanted)
	if len(part) == 0 || len(part) > maxNearLines {
		return ""
	}
	at, score := closest(lines, part)
	if score == 0 {
		if at = lookalike(lines, part[0]); at < 0 {
			return ""
		}
	}
	have := lines[at:min(at+len(part), len(lines))]
	asked, there := visible(ended(part), ended(have))
	diff := udiff.Unified("wanted", "the file", asked, there)
	if diff == "" { // they differ in their line ends alone
		return ""
	}
	_, diff, _ = strings.Cut(diff, "\n")
	_, diff, _ = strings.Cut(diff, "\n") // the names of the two
	_, diff, _ = strings.Cut(diff, "\n") // and the numbers, which are of the parts
	if len(diff) > maxNearDiff {
		diff = strings.ToValidUTF8(diff[:maxNearDiff], "") + "…\n"
	}
	return fmt.Sprintf("; the nearest is line %d (- what was asked for, + the file):\n%s", from+at+1, strings.TrimSuffix(diff, "\n"))
}

// ended is a text of lines, each with the same end.
func ended(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		text, _ := cutEnd(line)
		b.WriteString(text + "\n")
	}
	return b.String()
}

// visible writes characters that cannot be seen as Python does, and all beyond ASCII where the texts would look
// the same without: an é may be one character or two.
func visible(a, b string) (string, string) {
	is := unseen
	if looks(a) == looks(b) {
		is = func(r rune) bool { return r > unicode.MaxASCII || unseen(r) }
	}
	return escaped(a, is), escaped(b, is)
}

// unseen tells whether a character shows nothing, or what a space or nothing shows.
func unseen(r rune) bool { return r != ' ' && r != '\t' && r != '\n' && !unicode.IsPrint(r) }

func onlySeen(r rune) rune {
	if unseen(r) {
		return -1
	}
	return r
}

// looks is a text as it looks, whatever it is made of.
func looks(s string) string { return norm.NFKC.String(strings.Map(onlySeen, s)) }

// lookalike returns the line that holds what looks like another one, or −1.
func lookalike(lines []string, part string) int {
	part = strings.TrimSpace(looks(part))
	return slices.IndexFunc(lines, func(line string) bool { return part != "" && strings.Contains(looks(line), part) })
}

func escaped(s string, is func(rune) bool) string {
	var b strings.Builder
	for _, r := range s {
		if is(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// closest returns the place where most lines of part stand, and how many. Where none does, it is that of
// the line that shares the most words with the longest of part.
func closest(lines, part []string) (at, score int) {
	wanted := map[string]int{} // how many of each, which are not blank
	for _, line := range spacing.keys(part) {
		if line != "" {
			wanted[line]++
		}
	}
	keys := spacing.keys(lines)
	have := map[string]int{} // of the wanted ones, in the window
	count, best := 0, -1
	for i := range keys {
		if have[keys[i]]++; have[keys[i]] <= wanted[keys[i]] {
			count++
		}
		if i >= len(part) {
			gone := keys[i-len(part)]
			if have[gone]--; have[gone] < wanted[gone] {
				count--
			}
		}
		if count > score {
			best, score = max(0, i-len(part)+1), count
		}
	}
	if score > 0 {
		return aligned(keys, spacing.keys(part), best), score
	}
	return alike(keys, part)
}

// aligned moves a window so that its first line in common stands where that stands in part.
func aligned(keys, part []string, at int) int {
	for i, line := range part {
		if line == "" {
			continue
		}
		for j := at; j < min(at+len(part), len(keys)); j++ {
			if keys[j] == line {
				return max(0, j-i)
			}
		}
	}
	return at
}

// alike finds the line that has the most words of the longest line of part, at least half of them.
func alike(keys, part []string) (at, score int) {
	longest, index := "", 0
	for i, line := range spacing.keys(part) {
		if len(line) > len(longest) {
			longest, index = line, i
		}
	}
	words := wordsOf(longest)
	for i, line := range keys {
		n := 0
		for word := range wordsOf(line) {
			if words[word] {
				n++
			}
		}
		if n > score && 2*n >= len(words) {
			at, score = max(0, i-index), n
		}
	}
	return at, score
}

// wordsOf are the names and numbers in a line.
func wordsOf(line string) map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return !partOfName(r) }) {
		words[word] = true
	}
	return words
}

func partOfName(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f
}
