package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
	case !wellFormed(name):
		return errNoName
	case isKeyword(name):
		return errors.New("the name is a Python keyword")
	case slices.Contains([]string{"execute_code", "delegate_task"}, name):
		return errors.New("it cannot be called from inside execute_code")
	case hidden(name):
		return errors.New("the name is taken in hermes_tools")
	}
	return nil
}

// wellFormed says whether name is made of ASCII letters, digits and underscores, the first a letter.
func wellFormed(name string) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || '9' < c)) {
			return false
		}
	}
	return name != ""
}

// hidden says whether a function of that name would hide what the stub has, or what its runtime uses
// of Python.
func hidden(name string) bool {
	taken := append(Helpers(), searchAlias, "os", "sys", "StopIteration")
	return slices.Contains(taken, name) || slices.Contains(builtinNames(), name) ||
		strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception")
}

// builtinNames are the functions and types that every Python module sees.
func builtinNames() []string {
	return strings.Fields(`abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr
		classmethod compile complex copyright credits delattr dict dir divmod enumerate eval exec exit
		filter float format frozenset getattr globals hasattr hash help hex id input int isinstance
		issubclass iter len license list locals map max memoryview min next object oct open ord pow print
		property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple
		type vars zip`)
}

// Helpers lists what hermes_tools has besides the tools.
func Helpers() []string {
	return []string{"TransportError", "aio", "json_parse", "retry", "shell_quote"}
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

// isKeyword knows the words that no Python from 3.8 on takes as a name.
func isKeyword(s string) bool {
	return slices.Contains([]string{
		"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
		"def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in",
		"is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
	}, s)
}
