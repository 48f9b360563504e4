package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Signature returns s as Python writes it, without def:
//
//	read_file(path: str, offset: int = 1, limit: int = 2000)
//
// It fails on a default that has no Python literal; CheckSpec finds those.
func Signature(s Spec) (string, error) {
	params := make([]string, len(s.Params))
	for i, p := range s.Params {
		text := ParamName(p.Name) + ": " + pyType(p)
		if !p.Required {
			value, err := Literal(p.Default)
			if err != nil {
				return "", fmt.Errorf("%s: parameter %q: %w", s.Name, p.Name, err)
			}
			text += " = " + value
		}
		params[i] = text
	}
	return s.Name + "(" + strings.Join(params, ", ") + ")", nil
}

// pyType is the annotation of a parameter.
func pyType(p Param) string {
	types := map[Type]string{
		String: "str", Integer: "int", Number: "float", Boolean: "bool", StringList: "str | list[str]",
	}
	if !p.Required && p.Default == nil {
		return types[p.Type] + " | None"
	}
	return types[p.Type]
}

// ParamName is the name that a parameter has in Python: its own where that can be one, else one that
// is near. A name never starts with an underscore, so it cannot hide what the stub itself uses.
func ParamName(name string) string {
	py := strings.Map(func(r rune) rune {
		if isWord(r) {
			return r
		}
		return '_'
	}, name)
	if py == "" || py[0] == '_' || py[0] >= '0' && py[0] <= '9' {
		py = "p" + py
	}
	if isKeyword(py) {
		py += "_"
	}
	return py
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// isKeyword knows the words that no Python from 3.8 on takes as a name.
func isKeyword(s string) bool {
	return slices.Contains([]string{
		"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
		"def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in",
		"is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
	}, s)
}

// Literal returns v as a Python literal. It knows what a default can be: nil, booleans, strings,
// whole and other numbers, and lists of those.
func Literal(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "None", nil
	case bool:
		if v {
			return "True", nil
		}
		return "False", nil
	case string:
		return StringLiteral(v), nil
	case int, int64:
		return fmt.Sprint(v), nil
	case float64:
		return floatLiteral(v)
	case []string:
		return listLiteral(v)
	case []any:
		return listLiteral(v)
	default:
		return "", fmt.Errorf("a default of the type %T", v)
	}
}

// StringLiteral returns s as a Python string literal of printable characters on one line. What is
// not UTF-8 becomes U+FFFD. Go's escapes are a subset of Python's as long as no \x stands for a
// byte, and for UTF-8 none does.
func StringLiteral(s string) string {
	return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD"))
}

func floatLiteral(v float64) (string, error) {
	text, err := json.Marshal(v) // infinities and NaN have no literal
	if err != nil {
		return "", fmt.Errorf("a default of %v", v)
	}
	return string(text), nil
}

func listLiteral[T any](list []T) (string, error) {
	items := make([]string, len(list))
	for i, v := range list {
		text, err := Literal(v)
		if err != nil {
			return "", err
		}
		items[i] = text
	}
	return "[" + strings.Join(items, ", ") + "]", nil
}

var errNoName = errors.New("a name must be letters, digits and underscores, the first a letter")

// CheckSpec says whether s can be a function of hermes_tools.
func CheckSpec(s Spec) error {
	if err := checkName(s.Name); err != nil {
		return fmt.Errorf("tool %q: %w", s.Name, err)
	}
	optional := false
	var seen []string
	for _, p := range s.Params {
		if err := checkParam(p); err != nil {
			return fmt.Errorf("tool %q: parameter %q: %w", s.Name, p.Name, err)
		}
		if name := ParamName(p.Name); slices.Contains(seen, name) {
			return fmt.Errorf("tool %q: two parameters are %s in Python", s.Name, name)
		}
		if p.Required && optional {
			return fmt.Errorf("tool %q: parameter %q is required but follows an optional one", s.Name, p.Name)
		}
		optional = optional || !p.Required
		seen = append(seen, ParamName(p.Name))
	}
	return nil
}

// checkName refuses what cannot be imported, what would hide something in hermes_tools, and the
// tools that start scripts and agents: a script could go around every limit with them.
func checkName(name string) error {
	switch {
	case !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`).MatchString(name):
		return errNoName
	case isKeyword(name):
		return errors.New("the name is a Python keyword")
	case slices.Contains([]string{"execute_code", "delegate_task"}, name):
		return errors.New("it cannot be called from inside execute_code")
	case slices.Contains(reservedNames(), name):
		return errors.New("the name is taken in hermes_tools")
	}
	return nil
}

// reservedNames are those that the stub has or uses itself.
func reservedNames() []string {
	return []string{
		searchAlias, "json_parse", "shell_quote", "retry", "aio", "TransportError",
		"bool", "dict", "float", "int", "list", "str",
	}
}

func checkParam(p Param) error {
	if !slices.Contains([]Type{String, Integer, Number, Boolean, StringList}, p.Type) {
		return fmt.Errorf("unknown type %q", p.Type)
	}
	if p.Required {
		return nil
	}
	_, err := Literal(p.Default)
	return err
}
