package tool

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Signature returns s as Python writes it, without def:
//
//	patch(path: str, mode: Literal["replace", "patch"] = "replace")
//
// Who reads no more of a tool needs the values of a parameter that has only some.
// It fails on a default that has no Python literal; CheckSpec finds those.
func Signature(s Spec) (string, error) {
	params := make([]string, len(s.Params))
	for i, p := range s.Params {
		text := ParamName(p.Name) + ": " + chosen(p)
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

// chosen is the annotation of a parameter with the values that it may have, where these are few.
func chosen(p Param) string {
	if p.Enum == nil || p.Type != String {
		return ParamType(p)
	}
	values := make([]string, len(p.Enum))
	for i, value := range p.Enum {
		values[i] = StringLiteral(value)
	}
	return orNone(p, "Literal["+strings.Join(values, ", ")+"]")
}

// ParamType is the annotation of a parameter in Python.
func ParamType(p Param) string {
	return orNone(p, map[Type]string{
		String: "str", Integer: "int", Number: "float", Boolean: "bool", StringList: "str | list[str]",
	}[p.Type])
}

// orNone is an annotation for a parameter that may be left out.
func orNone(p Param, annotation string) string {
	if !p.Required && p.Default == nil {
		return annotation + " | None"
	}
	return annotation
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
