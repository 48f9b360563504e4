package hermes

import (
	"strings"
	"testing"
)

func TestHintOfSlips(t *testing.T) {
	const outside = "SyntaxError: 'await' outside function"
	for _, tt := range []struct{ name, last, code, want string }{
		{"a Markdown fence", "SyntaxError: invalid syntax", "\n```python\nprint(1)\n```\n", "Markdown fence"},
		{"the end of one", "SyntaxError: invalid syntax", "print(1)\n```", "Markdown fence"},
		{"a fence in a text", "SyntaxError: invalid syntax", "x = '''\n```\n'''\n)", ""},
		{"a fence, and another error", "ZeroDivisionError: division by zero", "```", ""},
		{"await outside a function", outside, "await f()", "asyncio.run"},
		{"async with outside an asynchronous one", "SyntaxError: 'async with' outside async function", "", "asyncio.run"},
		{"input", "EOFError: EOF when reading a line", "input()", "stdin"},
		{"a key as an attribute", "AttributeError: 'dict' object has no attribute 'output'", "f().output", `["output"], not .output`},
		{"an attribute that is no key", "AttributeError: 'dict' object has no attribute 'colour'", "f().colour", ""},
		{"await of a result", "TypeError: object dict can't be used in 'await' expression", "await f()", "aio"},
		{"await of a result since 3.14", "TypeError: 'dict' object can't be awaited", "await f()", "aio"},
		{"another end", "EOFError: Ran out of input", "pickle.load(f)", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := failing(tt.last)
			e.code, e.made = []byte(tt.code), 1
			if got := hint(e); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("hint %q, want one with %q", got, tt.want)
			}
		})
	}
}
