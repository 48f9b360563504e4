package hermes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-exec/hermes-exec/tool"
)

// Slips that have to do with what runs the script, and not with what the tools return.

// fenced: the script was given with the Markdown that stood around it.
func fenced(e evidence, x raised) string {
	if x.kind != "SyntaxError" || match("\\A\\s*```|(?m)^[ \\t]*```[ \\t\\r\\n]*\\z", string(e.code)) == nil {
		return ""
	}
	return "The script stands in a Markdown fence: take the lines with ``` away, and leave what stands between them."
}

// awaited: await stands where no function is asynchronous, as it may in a notebook.
func awaited(_ evidence, x raised) string {
	if x.kind != "SyntaxError" || match(`^'(?:await|async for|async with)' outside (?:async )?function`, x.message) == nil {
		return ""
	}
	return "await has to stand in an async def, which asyncio.run(main()) runs. The tools that are not of aio need no await."
}

// asked: the script asked a person.
func asked(_ evidence, x raised) string {
	if x.kind != "EOFError" || x.message != "EOF when reading a line" {
		return ""
	}
	return "Nobody answers input(): stdin holds what --stdin FILE gives, and else nothing. Put the values into the script."
}

// dotted: a key of a result was taken as an attribute.
func dotted(e evidence, x raised) string {
	m := match(`^'dict' object has no attribute '(\w+)'`, x.message)
	if x.kind != "AttributeError" || m == nil || e.made == 0 || !e.documents(m[1]) {
		return ""
	}
	return fmt.Sprintf(`What tools return are dicts: write ["%[1]s"], not .%[1]s.`, m[1])
}

// waited: a result was awaited, as only the calls of aio are.
func waited(e evidence, x raised) string {
	if x.kind != "TypeError" || e.made == 0 || match(`^(?:object dict can't be used in 'await' expression|'dict' object can't be awaited)`, x.message) == nil {
		return ""
	}
	return "The tools of hermes_tools need no await: leave it away, or write `from hermes_tools import aio` and `await aio.terminal(...)`, or any other tool."
}

// documents tells whether the result of a tool, or something in it, may have a key.
func (e evidence) documents(key string) bool {
	return slices.ContainsFunc(e.tools, func(s tool.Spec) bool { return strings.Contains(s.Returns, `"`+key+`"`) })
}

// unwanted: the script writes artifacts, which nobody asked for.
func unwanted(e evidence, x raised) string {
	none := x.kind == "KeyError" && x.message == "'"+envArtifacts+"'" || x.kind == "TypeError" && strings.Contains(x.message, "NoneType")
	if e.artifacts || !none || !strings.Contains(string(e.code), envArtifacts) {
		return ""
	}
	return "There is no $" + envArtifacts + " in this run: --artifacts DIR makes one, whose files come to DIR."
}
