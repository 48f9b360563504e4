package hermes

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/near"
	"github.com/hermes-exec/hermes-exec/tool"
)

// evidence is what a hint is drawn from.
type evidence struct {
	status         Status
	kind           ErrorKind
	stdout, stderr string
	code           []byte

	tools     []tool.Spec // what the script can call
	others    []string    // names of tools that are not enabled
	made      int64       // tool calls
	lastError string      // the last error value that a call gave the script
	refused   int64       // tool calls that were turned away, but for those over the budget
	refusal   string      // why the first of them was
	cut       bool        // not all that was printed is in stdout and stderr

	dropped  []string // variables that the filter dropped
	reserved []string // config.Settings.ReservedEnv

	python  string // the interpreter
	shipped string // the name of a FILE that was sent alone; "" if none was

	artifacts bool   // there is a directory for them
	noNetwork bool   // backend.Info.NoNetwork
	memory    int64  // backend.Info.Memory
	memoryDir string // the directory whose files count as memory; "" if there is none
}

// limits is the hint about a run that nothing could be started for.
func (o Options) limits(err error) string {
	if errors.Is(err, backend.ErrExhausted) {
		return o.Limits
	}
	return ""
}

// raised is the exception that ended a script.
type raised struct{ kind, message string }

// hint says what to do about a failure whose class is known, and nothing about any other. Each
// class is sure of its case or silent: a wrong hint costs more than none.
func hint(e evidence) string {
	if e.status == Success {
		return cmp.Or(unseen(e), silent(e))
	}
	if e.kind == KindOOM {
		return noMemory(e)
	}
	if e.kind != KindScript {
		return ""
	}
	x := exception(e.stderr)
	for _, class := range []func(evidence, raised) string{
		missingTool, missingName, missingModule, droppedVariable, failedCall, resultAsText, unreachable, headless,
		fenced, awaited, asked, dotted, waited, unwanted,
	} {
		if text := class(e, x); text != "" {
			return text
		}
	}
	return ""
}

// match finds an expression in a text and returns what its groups match, nil if it is not there. The
// expression is compiled here: few runs fail, and every start of the program would pay for it.
func match(expr, text string) []string { return regexp.MustCompile(expr).FindStringSubmatch(text) }

// lastLine matches the last line of a traceback.
const lastLine = `^([A-Za-z_][\w.]*)(?:: (.*))?$`

// exception finds the exception that ended a script: the last line of stderr, if a traceback or the
// place of a syntax error stands before it.
func exception(stderr string) raised {
	text := strings.TrimRight(stderr, " \t\r\n")
	i := strings.LastIndexByte(text, '\n')
	if i < 0 || !strings.Contains(text[:i+1], "  File \"") {
		return raised{}
	}
	m := match(lastLine, strings.TrimRight(text[i+1:], "\r"))
	if m == nil {
		return raised{}
	}
	return raised{kind: m[1], message: m[2]}
}

// silent: a script called tools and printed nothing, so nobody sees what they returned.
func silent(e evidence) string {
	if e.made == 0 || e.stdout != "" {
		return ""
	}
	return "The script called tools and printed nothing: what a tool returns is seen only if the script prints it, " +
		`as in print(terminal("ls")["output"]).`
}

// unseen: calls were refused, which is an error value like any other, and the script neither printed
// that nor looked for errors: it goes on as if they had been made.
func unseen(e evidence) string {
	if e.refused == 0 || e.refusal == "" {
		return ""
	}
	if e.stdout != "" || e.stderr != "" {
		if e.cut || match(`["']error["']`, string(e.code)) != nil || shows(e.stdout, e.refusal) || shows(e.stderr, e.refusal) {
			return ""
		}
	}
	what, first := "1 tool call was", ""
	if e.refused > 1 {
		what, first = fmt.Sprintf("%d tool calls were", e.refused), "the first: "
	}
	return fmt.Sprintf("%s refused and did nothing: %s%s. The script printed nothing of that: such a call returns only \"error\", "+
		"which is seen only if the script prints it.", what, first, strings.TrimRight(clip(e.refusal, 300), ". "))
}

// shows tells whether a text has an error in it, with whatever became of its quotes.
func shows(text, why string) bool {
	plain := strings.NewReplacer(`"`, "", `'`, "", `\`, "")
	begin := strings.ToValidUTF8(why[:min(len(why), 60)], "")
	return strings.Contains(plain.Replace(text), plain.Replace(begin))
}

// What Python says of names that are not there.
const (
	noImport    = `^cannot import name '([^']+)' from '?hermes_tools\b`
	noAttribute = `^module 'hermes_tools' has no attribute '([^']+)'`
	noName      = `^(?:global )?name '([^']+)' is not defined`
	noModule    = `^No module named '([^']+)'`
)

// missingTool: hermes_tools does not have what the script wants of it.
func missingTool(e evidence, x raised) string {
	m := match(noImport, x.message)
	if m == nil {
		m = match(noAttribute, x.message)
	}
	if m == nil {
		return ""
	}
	if near := e.near(m[1]); near != "" {
		return fmt.Sprintf("hermes_tools has no %s: did you mean %s?", m[1], near)
	}
	return e.unavailable(m[1])
}

// missingName: a tool or a helper is used without having been imported, or under a name that is
// nearly right.
func missingName(e evidence, x raised) string {
	m := match(noName, x.message)
	switch {
	case x.kind != "NameError" || m == nil:
		return ""
	case slices.Contains(e.offered(), m[1]):
		return fmt.Sprintf("%s has to be imported: add `from hermes_tools import %[1]s` (below any `from __future__` line).", m[1])
	case slices.Contains(e.others, m[1]):
		return e.unavailable(m[1])
	case !regexp.MustCompile(`\b` + regexp.QuoteMeta(m[1]) + `\s*\(`).Match(e.code):
		return "" // a variable: what it was to be cannot be known
	}
	if near := e.near(m[1]); near != "" {
		return fmt.Sprintf("There is no %s: did you mean %s? It comes from `from hermes_tools import %[2]s`.", m[1], near)
	}
	return ""
}

// missingModule: a module is not there.
func missingModule(e evidence, x raised) string {
	m := match(noModule, x.message)
	if x.kind != "ModuleNotFoundError" || m == nil {
		return ""
	}
	module, _, _ := strings.Cut(m[1], ".")
	switch {
	case slices.Contains(e.offered(), module):
		return fmt.Sprintf("%s is a function, not a module: write `from hermes_tools import %[1]s`.", module)
	case strings.HasPrefix(m[1], "hermes_tools."):
		return "hermes_tools is no package: write `from hermes_tools import aio`, and then `await aio.read_file(...)`, or any other tool."
	case e.wanted(module) != "":
		return fmt.Sprintf("The module of the tools is called hermes_tools: write `from hermes_tools import %s`.", e.wanted(module))
	case near.Is(module, "hermes_tools"), module == "hermes":
		return "The module of the tools is called hermes_tools."
	case e.shipped != "":
		return fmt.Sprintf("There is no module %s there. Only %s itself was sent to the environment, not the files beside it: "+
			"put what it needs into one file, or use a package that is installed there.", module, e.shipped)
	}
	return fmt.Sprintf("The module %s is not installed for %s: use the standard library, install the package that provides it, "+
		"or choose an interpreter that has it (--python).", module, e.python)
}

// wanted is the first tool or helper that a script imports from a module, "" if there is none.
func (e evidence) wanted(module string) string {
	m := match(`(?m)^[ \t]*from[ \t]+`+regexp.QuoteMeta(module)+`[ \t]+import[ \t]*(?:\(([\w\s,]+)|[ \t]([\w \t,]+))`, string(e.code))
	if m == nil {
		return ""
	}
	for _, name := range regexp.MustCompile(`\w+`).FindAllString(m[1]+m[2], -1) {
		if slices.Contains(e.offered(), name) {
			return name
		}
	}
	return ""
}

// droppedVariable: the script asked for a variable that exists and that the filter kept from it.
func droppedVariable(e evidence, x raised) string {
	for _, name := range e.dropped {
		if !asksFor(e, x, name) {
			continue
		}
		if config.IsCredential(name, e.reserved) {
			return fmt.Sprintf("The variable %s is set, but it is a credential of the agent, which no script gets.", name)
		}
		return fmt.Sprintf("The variable %s is set, but it was not passed to the script: "+
			"pass it with --env %[1]s or terminal.env_passthrough.", name)
	}
	return ""
}

// asksFor tells whether a script names a variable: in the exception, in what it printed, or where it
// reads the environment.
func asksFor(e evidence, x raised, name string) bool {
	if x.kind == "KeyError" && x.message == "'"+name+"'" {
		return true
	}
	if len(name) < 4 {
		return false // too short to stand for a variable in a text
	}
	quoted := regexp.QuoteMeta(name)
	word := regexp.MustCompile(`\b` + quoted + `\b`)
	reads := regexp.MustCompile(`(?:environ|getenv)[^\n]{0,40}["']` + quoted + `["']`)
	return word.MatchString(e.stderr) || word.MatchString(e.stdout) || reads.Match(e.code)
}

// failedCall: the script took a key of a result that was an error.
func failedCall(e evidence, x raised) string {
	if x.kind != "KeyError" || e.lastError == "" {
		return ""
	}
	key := strings.Trim(x.message, "'")
	if key == "" || !e.documents(key) {
		return ""
	}
	return fmt.Sprintf("A tool call had failed: %s. A failed call returns only \"error\": test for it before using the result.",
		strings.TrimRight(clip(e.lastError, 300), ". "))
}

// textMistakes match what Python says when a dict is treated as a string.
const textMistakes = `^(?:'dict' object has no attribute '(?:` +
	`split|splitlines|strip|lstrip|rstrip|startswith|endswith|lower|upper|replace|find|rfind|index|encode|join|partition|rpartition|count|format|isdigit|title` +
	`)'|the JSON object must be str, bytes or bytearray, not dict` +
	`|expected string or bytes-like object(?:, got 'dict')?$` +
	`|can only concatenate str \(not "dict"\) to str` +
	`|unsupported operand type\(s\) for \+: '(?:dict' and 'str|str' and 'dict)'` +
	`|unhashable type: 'slice'|slice\(` +
	`|(?:write\(\) argument|a bytes-like object is required|sequence item \d+: expected str instance).*\bdict\b)`

// resultAsText: the script treats what a tool returned as a string.
func resultAsText(e evidence, x raised) string {
	switch x.kind {
	case "AttributeError", "TypeError", "KeyError":
	default:
		return ""
	}
	if e.made == 0 || match(textMistakes, x.message) == nil {
		return ""
	}
	return `Tools return dicts, not strings: take the text out by its key, as in read_file(p)["content"] or terminal(c)["output"].`
}

// noWay matches what programs say when there is no network: Python's own words for an address and for
// a name, which are those of the C library (glibc, musl), and curl's and git's.
const noWay = `(?i)(?:network is unreachable|temporary failure in name resolution|name or service not known|name does not resolve` +
	`|\[errno -3\] try again|could not resolve host)`

// unreachable: the script wanted a network where there is none.
func unreachable(e evidence, _ raised) string {
	if !e.noNetwork || match(noWay, e.stderr) == nil {
		return ""
	}
	return "The environment has no network: --network bridge gives it one. Tools for the web work without."
}

// noMemory: the memory of an environment that has a limit of its own ran out.
func noMemory(e evidence) string {
	if e.memory == 0 {
		return ""
	}
	text := fmt.Sprintf("The environment may use %d MiB of memory in all: --memory gives it more.", e.memory>>20)
	if e.memoryDir != "" {
		text += " Files in " + e.memoryDir + " count as memory."
	}
	return text
}

// offered are the names that hermes_tools has.
func (e evidence) offered() []string {
	names := tool.Helpers()
	for _, s := range e.tools {
		names = append(names, s.Name)
		if alias := tool.Alias(s.Name); alias != "" {
			names = append(names, alias)
		}
	}
	return names
}

// unavailable says that a name is not there, and what is.
func (e evidence) unavailable(name string) string {
	what := "hermes_tools has no " + name
	if slices.Contains(e.others, name) {
		what = "The tool " + name + " is not enabled here"
	}
	names := make([]string, len(e.tools))
	for i, s := range e.tools {
		names[i] = s.Name
	}
	tools := strings.Join(names, ", ")
	if tools == "" {
		tools = "none"
	}
	return fmt.Sprintf("%s. Available tools: %s; helpers: %s.", what, tools, strings.Join(tool.Helpers(), ", "))
}

// near finds the one name on offer that the given one is nearly.
func (e evidence) near(name string) string {
	if slices.Contains(e.others, name) {
		return "" // it is right, and not enabled
	}
	return near.One(name, e.offered())
}

// clip shortens a text to n bytes at most.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
