package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manual is the page that the table of keys is rendered into.
var manual = filepath.Join("..", "docs", "configuration.md")

// TestManual keeps docs/configuration.md true. UPDATE=1 writes what is rendered.
func TestManual(t *testing.T) {
	data, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for name, text := range map[string]string{"keys": keyTable(), "credentials": credentialList()} {
		page = replace(t, page, name, text)
	}
	if page == string(data) {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("%s does not say what the code does: run UPDATE=1 go test ./config", manual)
	}
	if err := os.WriteFile(manual, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace puts a text between two marks.
func replace(t *testing.T, page, name, text string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok1 := strings.Cut(page, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the %s", manual, name)
	}
	return before + begin + "\n" + text + "\n" + end + after
}

// keyTable renders the table of keys.
func keyTable() string {
	var b strings.Builder
	b.WriteString("| key in the file | flag | variables | value | default | example | meaning |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- |\n")
	defaults := Defaults()
	for _, k := range keys() {
		variables := []string{}
		if k.flag != "" {
			variables = append(variables, "`"+k.variable()+"`")
		}
		for _, name := range k.env {
			variables = append(variables, "`"+name+"`")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", code(k.name), code(prefixed("--", k.flag)), strings.Join(variables, " "),
			k.want, code(k.show(&defaults)), code(k.example), k.help)
	}
	return b.String()
}

// credentialList renders the variables that nothing readmits.
func credentialList() string {
	var b strings.Builder
	for _, name := range Credentials() {
		fmt.Fprintf(&b, "`%s`\n", name)
	}
	return b.String()
}

// code sets a text in the typewriter's letters.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// prefixed puts a prefix before a text that is there.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// TestExamples loads every example of the table, from each place where it can stand.
func TestExamples(t *testing.T) {
	for _, k := range keys() {
		if k.example == "" {
			continue
		}
		if k.name != "" {
			section, name, nested := strings.Cut(k.name, ".")
			text := k.name + ": " + k.example + "\n"
			if nested {
				text = section + ":\n  " + name + ": " + strings.ReplaceAll(k.example, "${", "$ {") + "\n"
			}
			if l, err := from(t, text); err != nil {
				t.Errorf("%s: %v", k.name, err)
			} else if l.Origin(k.name) == "default" {
				t.Errorf("%s is not known", k.name)
			}
		}
		if k.flag == "" || k.flag == "skill" || k.flag == "volume" {
			continue // a file that is not there; a list in the file's spelling
		}
		example := k.example
		if k.flag == "memory" {
			example += "m" // the flag counts bytes
		}
		in := input(t)
		in.Flags = flags(k.flag, example)
		in.suit(k.flag)
		if l, err := Load(in); err != nil {
			t.Errorf("--%s: %v", k.flag, err)
		} else if got := l.Origin(k.id()); got != "flag --"+k.flag {
			t.Errorf("--%s comes from %q", k.flag, got)
		}
		in = input(t)
		in.Environ[k.variable()] = example
		if l, err := Load(in); err != nil {
			t.Errorf("%s: %v", k.variable(), err)
		} else if got := l.Origin(k.id()); got != "environment "+k.variable() {
			t.Errorf("%s comes from %q", k.variable(), got)
		}
	}
}

// TestShownValuesAreReadBack checks that a listing can be put into a file again.
func TestShownValuesAreReadBack(t *testing.T) {
	for _, s := range load(t, input(t)).List() {
		section, name, nested := strings.Cut(s.Key, ".")
		if s.Value == "" || s.Value == "all" || !nested {
			continue
		}
		l, err := from(t, section+":\n  "+name+": "+s.Value+"\n")
		if err != nil {
			t.Errorf("%s: %v", s.Key, err)
			continue
		}
		for _, again := range l.List() {
			if again.Key == s.Key && again.Value != s.Value {
				t.Errorf("%s: %q became %q", s.Key, s.Value, again.Value)
			}
		}
	}
}
