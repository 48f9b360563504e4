package cases

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root = "../.."
	page = root + "/docs/cases.md"
)

// Every id that a test names is a row of docs/cases.md, every row says where its tests are, and a
// row without any says why. UPDATE=1 writes the places anew.
func TestPage(t *testing.T) {
	places := findPlaces(t)
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	rows := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if id, what, where, ok := parseRow(line); ok {
			rows[id] = true
			line = formatRow(id, what, where, places[id])
		}
		text.WriteString(line)
	}
	for id := range places {
		if !rows[id] {
			t.Errorf("%s is named in %v and is no row of docs/cases.md", id, places[id])
		}
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(page, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text.String() != string(data) {
		t.Error("the places in docs/cases.md are not those in the tree: run UPDATE=1 go test ./internal/cases")
	}
	for line := range strings.Lines(text.String()) {
		if id, _, where, ok := parseRow(line); ok && where == "" {
			t.Errorf("%s has neither a test nor a reason", id)
		}
	}
}

// parseRow reads a row of the table. Where is a list of tests, or a reason in parentheses.
func parseRow(line string) (id, what, where string, ok bool) {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	if len(cells) != 3 {
		return "", "", "", false
	}
	id, what, where = strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
	return id, what, where, regexp.MustCompile(`^[BP][0-9]{3}$`).MatchString(id)
}

func formatRow(id, what, where string, places map[string]bool) string {
	if len(places) > 0 {
		where = strings.Join(slices.Sorted(maps.Keys(places)), "; ")
	} else if !strings.HasPrefix(where, "(") {
		where = ""
	}
	return fmt.Sprintf("| %s | %s | %s |\n", id, what, where)
}

// findPlaces returns where each id is named.
func findPlaces(t *testing.T) map[string]map[string]bool {
	t.Helper()
	places := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "cases") {
			return fs.SkipDir
		}
		if d.IsDir() || !isTest(file) {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		lines := strings.Split(string(data), "\n")
		for i, line := range lines {
			for _, id := range ids(line) {
				if places[id] == nil {
					places[id] = map[string]bool{}
				}
				places[id][place(filepath.ToSlash(name), lines, i)] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return places
}

// isTest reports whether a file is part of tests: test files, the packages of conformance suites,
// and what they run.
func isTest(file string) bool {
	file = filepath.ToSlash(file)
	switch path.Ext(file) {
	case ".go":
		return strings.HasSuffix(file, "_test.go") || regexp.MustCompile(`/[a-z]+test/`).MatchString(file)
	case ".py":
		return strings.Contains(file, "/testdata/") || strings.Contains(file, "python/tests/")
	}
	return path.Ext(file) == ".txtar"
}

// ids are the cases that a line names: B081, P7, P007 or PARITY 7.
func ids(line string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`\b(?:(B)([0-9]{3})|(?:P|PARITY )([0-9]{1,3}))\b`).FindAllStringSubmatch(line, -1) {
		if m[1] == "B" {
			list = append(list, "B"+m[2])
			continue
		}
		if n, err := strconv.Atoi(m[3]); err == nil {
			list = append(list, fmt.Sprintf("P%03d", n))
		}
	}
	return list
}

// place is the test that a line belongs to: the function that it stands in or right above.
func place(name string, lines []string, at int) string {
	if script, ok := strings.CutSuffix(name, ".txtar"); ok {
		return path.Join(path.Dir(script), "../..") + " TestScript/" + path.Base(script)
	}
	function := regexp.MustCompile(`^ *def (\w+)`)
	if filepath.Ext(name) == ".go" {
		function = regexp.MustCompile(`^func (?:\([^)]*\) )?(\w+)`)
	}
	comment := regexp.MustCompile(`^(//|\s*#)`)
	for comment.MatchString(lines[at]) && at+1 < len(lines) {
		at++
	}
	for i := at; i >= 0; i-- {
		if m := function.FindStringSubmatch(lines[i]); m != nil {
			if filepath.Ext(name) == ".go" && strings.HasPrefix(m[1], "Test") {
				return strings.TrimSpace(strings.TrimPrefix(path.Dir(name), ".") + " " + m[1])
			}
			return name + " " + m[1]
		}
	}
	return name
}
