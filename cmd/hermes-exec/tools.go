package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/near"
	"github.com/hermes-exec/hermes-exec/schema"
	"github.com/hermes-exec/hermes-exec/stubgen"
	"github.com/hermes-exec/hermes-exec/tool"
)

func (a *app) stubsCommand() *cli.Command {
	return &cli.Command{
		Name:      "stubs",
		Usage:     "print the hermes_tools.py that a script would get",
		UsageText: "hermes-exec stubs [flags]",
		Description: described(
			"For editors; runs have their own. Keep it out of the directories of scripts, where it would be\n"+
				"imported in place of that.",
			"mkdir -p typings && hermes-exec stubs > typings/hermes_tools.pyi", "hermes-exec stubs --tools read_file,terminal",
		),
		Flags: a.settingFlags(),
		Action: noArguments(func(_ context.Context, c *cli.Context) error {
			_, registry, err := a.loadTools(c)
			if err != nil {
				return err
			}
			source, err := stubgen.Generate(registry.Specs())
			if err != nil {
				return err
			}
			write(a.out, source)
			return nil
		}),
	}
}

func (a *app) schemaCommand() *cli.Command {
	return &cli.Command{
		Name:        "schema",
		Usage:       "print the execute_code tool for a model",
		UsageText:   "hermes-exec schema [--format openai|anthropic|mcp] [flags]",
		Description: described("", "hermes-exec schema", "hermes-exec schema --format anthropic --tools read_file,terminal"),
		Flags: append(
			a.settingFlags(),
			&cli.StringFlag{Name: "format", Usage: "print `FORMAT`: openai, anthropic or mcp (default openai)"},
		),
		Action: noArguments(a.schema),
	}
}

func (a *app) schema(_ context.Context, c *cli.Context) error {
	f := schema.Format(cmp.Or(c.String("format"), string(schema.OpenAI)))
	if !slices.Contains(schema.Formats(), f) {
		return usagef("--format: unknown format %q: %s", f, near.Or(string(f), formatNames(), "openai, anthropic or mcp"))
	}
	loaded, registry, err := a.loadTools(c)
	if err != nil {
		return err
	}
	s := loaded.Settings
	data, err := schema.Build(f, schema.Options{
		Specs: registry.Specs(), Mode: s.Mode, Timeout: s.Timeout, MaxToolCalls: s.MaxToolCalls, MaxStdout: s.MaxStdout,
	})
	if err != nil {
		return err
	}
	return a.printIndented(data)
}

// formatNames are the formats that schema knows.
func formatNames() (names []string) {
	for _, f := range schema.Formats() {
		names = append(names, string(f))
	}
	return names
}

// printIndented prints JSON for people.
func (a *app) printIndented(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (a *app) toolsCommand() *cli.Command {
	return &cli.Command{
		Name:      "tools",
		Usage:     "list the tools, or call one",
		UsageText: "hermes-exec tools list [flags]\nhermes-exec tools call [flags] NAME JSON|-",
		Subcommands: []*cli.Command{
			{
				Name:        "list",
				Usage:       "print the tools that a script can call",
				UsageText:   "hermes-exec tools list [flags]",
				Description: described("", "hermes-exec tools list", "hermes-exec tools list --tools read_file,terminal"),
				Flags:       a.settingFlags(),
				Action:      noArguments(a.listTools),
			},
			{
				Name:      "call",
				Usage:     "call one tool as a script would",
				UsageText: "hermes-exec tools call [flags] NAME JSON|-",
				Description: described(
					"The result is printed as one line of JSON. A result with an error has exit status 1; a tool that\n"+
						"does not exist and arguments that are no JSON object are mistakes on the command line, 2.",
					callExample,
					`echo '{"path": "job.py", "limit": 1}' | hermes-exec tools call read_file -`,
				),
				Flags:  a.settingFlags(),
				Action: a.callTool,
			},
		},
		Action: subcommandNeeded("list or call"),
	}
}

// subcommandNeeded answers a command that does nothing by itself.
func subcommandNeeded(names string) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Args().Present() {
			subs := []string{}
			for _, sub := range c.Command.Subcommands {
				subs = append(subs, sub.Name)
			}
			return usagef("unknown command %q of %s: %s", c.Args().First(), c.Command.Name, near.Or(c.Args().First(), subs, names))
		}
		return usagef("%s what? %s", c.Command.Name, names)
	}
}

// loadTools computes the settings and the tools that they enable; what is odd about those is told.
func (a *app) loadTools(c *cli.Context) (*config.Loaded, *tool.Registry, error) {
	loaded, err := a.load(c)
	if err != nil {
		return nil, nil, err
	}
	registry, warnings, err := enabledTools(loaded.Settings)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range slices.Concat(loaded.Settings.Warnings, warnings) {
		a.complain("warning: " + w)
	}
	return loaded, registry, nil
}

// enabledTools are those that a script gets with these settings.
func enabledTools(s config.Settings) (registry *tool.Registry, warnings []string, err error) {
	return tool.NewRegistry(tool.Builtin(s.Web), s.Tools)
}

// misspelt refuses a name in --tools that is nearly that of a tool: whoever typed it wants that one, and
// a script without it would run to no avail. Others may be tools of other programs, and are a warning.
func misspelt(flags []config.Flag) error {
	names := toolNames()
	for _, f := range flags {
		if f.Name != "tools" {
			continue
		}
		for name := range strings.SplitSeq(f.Value, ",") {
			name = strings.TrimSpace(name)
			if meant := near.One(name, names); name != "" && meant != "" && !slices.Contains(names, name) {
				return usagef("--tools: no tool is called %s: did you mean %s?", shorten(name), meant)
			}
		}
	}
	return nil
}

// toolNames are the names by which scripts may call the tools that there are.
func toolNames() []string {
	var names []string
	for _, t := range tool.Seven() {
		name := t.Spec().Name
		names = append(names, name)
		if alias := tool.Alias(name); alias != "" {
			names = append(names, alias)
		}
	}
	return names
}

func (a *app) listTools(_ context.Context, c *cli.Context) error {
	_, registry, err := a.loadTools(c)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, s := range registry.Specs() {
		signature, err := tool.Signature(s)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\n", s.Name, summary(s))
		fmt.Fprintf(w, "\t%s\n\treturns %s\n", signature, s.Returns)
	}
	return w.Flush()
}

// summary is one line about a tool.
func summary(s tool.Spec) string {
	if s.Unconfigured == "" {
		return s.Summary
	}
	return s.Summary + " Not configured: " + s.Unconfigured + "."
}

// callTool calls one tool in an environment opened for it.
func (a *app) callTool(c *cli.Context) error {
	name, args, err := a.callArgs(c.Args().Slice())
	if err != nil {
		return err
	}
	loaded, registry, err := a.loadTools(c)
	if err != nil {
		return err
	}
	if _, ok := registry.Lookup(name); !ok {
		if meant := near.One(name, registry.Names()); meant != "" {
			return usagef("there is no tool %s: did you mean %s?", shorten(name), meant)
		}
		return usagef("there is no tool %s: %s", shorten(name), cmp.Or(strings.Join(registry.Names(), ", "), "none is enabled"))
	}
	ctx, stop := a.interrupts(c.Context, nil)
	defer stop()
	return a.withEnv(ctx, a.options(loaded, a.progress(false)), func(ctx context.Context, env *hermes.Env) error {
		result, err := env.Call(ctx, name, args)
		switch {
		case ctx.Err() != nil: // by a signal: there is no other bound on it
			a.complain(name + " was interrupted")
			return statusError(exitInterrupted)
		case err != nil:
			return errors.Join(a.printJSON(map[string]string{"error": err.Error()}), statusError(exitError))
		}
		write(a.out, append(result, '\n'))
		return nil
	})
}

// callExample shows how arguments are written.
const callExample = `hermes-exec tools call terminal '{"command": "date"}'`

// callArgs reads what stands behind the flags of tools call.
func (a *app) callArgs(given []string) (name string, args []byte, err error) {
	for i, arg := range given {
		if i > 0 && len(arg) > 1 && arg[0] == '-' {
			return "", nil, usagef("unexpected %q after %s: flags stand before NAME", arg, given[0])
		}
	}
	if len(given) != 2 {
		return "", nil, usagef("tools call takes the NAME of a tool and its arguments as JSON, or - to read them from stdin: %s", callExample)
	}
	name, args = given[0], []byte(given[1])
	if given[1] == "-" {
		if args, err = readAll(a.in); err != nil {
			return "", nil, err
		}
	}
	var object map[string]json.RawMessage
	switch {
	case !json.Valid(args):
		return "", nil, usagef("the arguments of %s are not JSON: %s; as an example: %s", name, shorten(string(args)), callExample)
	case json.Unmarshal(args, &object) != nil || object == nil:
		return "", nil, usagef("the arguments of %s are no JSON object: %s; as an example: %s", name, shorten(string(args)), callExample)
	}
	return name, args, nil
}

// shorten cuts a text for a message.
func shorten(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
