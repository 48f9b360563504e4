// Package near finds the name that was meant by one that is nearly right.
package near

import "strings"

// One returns the one of names that name nearly is; "" if none is, or more than one.
func One(name string, names []string) string {
	if found := All(name, names); len(found) == 1 {
		return found[0]
	}
	return ""
}

// All returns those of names that name nearly is.
func All(name string, names []string) (found []string) {
	for _, other := range names {
		if Is(name, other) {
			found = append(found, other)
		}
	}
	return found
}

// Or names for a sentence those of a few words that name nearly is, as "did you mean fish or zsh?", else
// all of them, as otherwise says it.
func Or(name string, names []string, otherwise string) string {
	if found := All(name, names); len(found) > 0 {
		return "did you mean " + strings.Join(found, " or ") + "?"
	}
	return otherwise
}

// Is tells whether two names differ by one slip in four letters: a letter too many, one
// missing, a wrong one, or two that changed places. Case and underscores do not count. Of names with as
// many words each word is so: container_disk is not container_pids, however much of them is the same.
func Is(a, b string) bool {
	words, others := strings.Split(a, "_"), strings.Split(b, "_")
	for i := range words {
		if len(words) == len(others) && !similar(words[i], others[i]) {
			return false
		}
	}
	return similar(strings.Join(words, ""), strings.Join(others, ""))
}

// similar tells whether two words differ by one slip in four letters.
func similar(a, b string) bool {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	most := max(1, min(len(x), len(y))/4)
	return max(len(x), len(y))-min(len(x), len(y)) <= most && distance(x, y) <= most
}

// distance counts the slips between a and b.
func distance(a, b []rune) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			wrong := 1
			if a[i-1] == b[j-1] {
				wrong = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+wrong)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
