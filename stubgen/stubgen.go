// Package stubgen writes hermes_tools.py, the module through which a script calls its tools.
//
// The module is the runtime that package python holds, with a typed function for every tool. The
// package knows how Python is written; what a tool is like is in its Spec, and what happens to a
// call is the runtime's affair.
package stubgen

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hermes-exec/hermes-exec/python"
	"github.com/hermes-exec/hermes-exec/tool"
)

// Generate returns the source of a hermes_tools.py with a function for each of specs. Equal specs
// give equal bytes, whatever their order. A spec that cannot be a function is an error.
func Generate(specs []tool.Spec) ([]byte, error) {
	runtime, err := python.Stub()
	if err != nil {
		return nil, fmt.Errorf("read the runtime of hermes_tools: %w", err)
	}
	functions, err := render(specs)
	if err != nil {
		return nil, fmt.Errorf("write hermes_tools: %w", err)
	}
	return slices.Concat(bytes.TrimRight(runtime, "\n"), []byte("\n\n\n"), functions), nil
}

// render returns the part of the module that depends on specs.
func render(specs []tool.Spec) ([]byte, error) {
	specs = slices.SortedFunc(slices.Values(specs), func(a, b tool.Spec) int { return cmp.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	names := tool.Helpers()
	for _, s := range specs {
		if err := tool.CheckSpec(s); err != nil {
			return nil, err
		}
		if slices.Contains(names, s.Name) {
			return nil, fmt.Errorf("tool %q: there are two of that name", s.Name)
		}
		names = append(names, s.Name)
		if err := writeFunction(&b, s); err != nil {
			return nil, err
		}
		if alias := tool.Alias(s.Name); alias != "" {
			names = append(names, alias)
			fmt.Fprintf(&b, "%s = %s\n\n\n", alias, s.Name)
		}
	}
	writeAll(&b, names)
	return b.Bytes(), nil
}

func writeAll(b *bytes.Buffer, names []string) {
	slices.Sort(names)
	b.WriteString("__all__ = [\n")
	for _, name := range names {
		fmt.Fprintf(b, "    %s,\n", tool.StringLiteral(name))
	}
	b.WriteString("]\n")
}

// writeFunction writes one tool. Its body sends the required arguments and those that differ from
// their default, so that a request says what the script said.
func writeFunction(b *bytes.Buffer, s tool.Spec) error {
	if err := writeDef(b, s); err != nil {
		return err
	}
	writeDoc(b, s)
	var required []string
	for _, p := range s.Params {
		if p.Required {
			required = append(required, tool.StringLiteral(p.Name)+": "+tool.ParamName(p.Name))
		}
	}
	fmt.Fprintf(b, "    _args: dict = {%s}\n", strings.Join(required, ", "))
	for _, p := range s.Params {
		if p.Required {
			continue
		}
		differs, err := differs(p)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "    if %s:\n        _args[%s] = %s\n", differs, tool.StringLiteral(p.Name), tool.ParamName(p.Name))
	}
	fmt.Fprintf(b, "    return _call(%s, _args)\n\n\n", tool.StringLiteral(s.Name))
	return nil
}

// maxLine is the length of a line that a def may have.
const maxLine = 100

func writeDef(b *bytes.Buffer, s tool.Spec) error {
	params := make([]string, len(s.Params))
	for i, p := range s.Params {
		params[i] = tool.ParamName(p.Name) + ": " + annotation(p)
		if p.Required {
			continue
		}
		value, err := tool.Literal(p.Default)
		if err != nil {
			return err
		}
		params[i] += " = " + value
	}
	line := fmt.Sprintf("def %s(%s) -> dict:\n", s.Name, strings.Join(params, ", "))
	if len(line) > maxLine {
		line = fmt.Sprintf("def %s(\n    %s,\n) -> dict:\n", s.Name, strings.Join(params, ",\n    "))
	}
	b.WriteString(line)
	return nil
}

// annotation is the type of a parameter. Unions are quoted: Python 3.8 cannot evaluate them, and
// typing would cost every script a slow import.
func annotation(p tool.Param) string {
	text := tool.ParamType(p)
	if strings.Contains(text, "|") {
		return tool.StringLiteral(text)
	}
	return text
}

// differs is the condition under which an optional argument is sent.
func differs(p tool.Param) (string, error) {
	value, err := tool.Literal(p.Default)
	if err != nil {
		return "", err
	}
	operator := "!="
	switch p.Default.(type) {
	case nil, bool:
		operator = "is not"
	}
	return tool.ParamName(p.Name) + " " + operator + " " + value, nil
}

// writeDoc writes the docstring: what the tool does, its parameters, what it returns.
func writeDoc(b *bytes.Buffer, s tool.Spec) {
	lines := docLines(cmp.Or(s.Summary, s.Name))
	if len(s.Params) > 0 {
		lines = append(lines, "")
	}
	for _, p := range s.Params {
		text := strings.TrimSuffix(tool.ParamName(p.Name)+": "+p.Doc, ": ")
		if p.Enum != nil {
			text += " One of: " + strings.Join(p.Enum, ", ") + "."
		}
		lines = append(lines, docLines(text)...)
	}
	lines = append(lines, "")
	if s.Returns != "" {
		lines = append(lines, docLines("Returns "+s.Returns+".")...)
	}
	lines = append(lines, `A failed call returns a dict with "error" and nothing else.`)
	b.WriteString(`    """`)
	for i, line := range lines {
		if i > 0 && line != "" {
			b.WriteString("    ")
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("    \"\"\"\n")
}

// docLines returns text as lines of a docstring, in which it can end nothing and start no escape.
func docLines(text string) []string {
	lines := strings.Split(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	for i, line := range lines {
		literal := strconv.Quote(line)
		literal = literal[1 : len(literal)-1]
		// Lone quotes read better bare. At an edge of the line one could join a delimiter.
		if !strings.Contains(line, `""`) && !strings.HasPrefix(line, `"`) && !strings.HasSuffix(line, `"`) {
			literal = strings.ReplaceAll(literal, `\"`, `"`)
		}
		lines[i] = literal
	}
	return lines
}
