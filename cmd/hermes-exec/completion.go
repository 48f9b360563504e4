package main

import (
	"embed"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hermes-exec/hermes-exec/backend/all"
)

//go:embed completion
var completions embed.FS

// shells are the shells that completion knows, with the files of their scripts.
func shells() map[string]string {
	return map[string]string{"bash": "bash.sh", "zsh": "zsh.sh", "fish": "fish.fish", "powershell": "powershell.ps1"}
}

func (a *app) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print what makes a shell complete command lines",
		UsageText: "hermes-exec completion bash|zsh|fish|powershell",
		Description: strings.Join([]string{
			"Examples:",
			"  source <(hermes-exec completion bash)          in ~/.bashrc",
			"  source <(hermes-exec completion zsh)           in ~/.zshrc, behind compinit",
			"  hermes-exec completion fish | source           in ~/.config/fish/config.fish",
			"  hermes-exec completion powershell | Out-String | Invoke-Expression",
		}, "\n"),
		Action: func(c *cli.Context) error {
			file, known := shells()[c.Args().First()]
			if !known || c.NArg() != 1 {
				return usagef("name the shell: bash, zsh, fish or powershell")
			}
			text, err := completions.ReadFile("completion/" + file)
			if err != nil {
				return err
			}
			write(a.out, text)
			return nil
		},
	}
}

// completeCommand is what the scripts of completion ask.
func (a *app) completeCommand() *cli.Command {
	return &cli.Command{
		Name: "complete", Hidden: true,
		UsageText: "hermes-exec complete -- WORDS…",
		Usage:     "print what the last of these words can be, a line each with a tab and what it is; nothing: a file",
		Action: func(c *cli.Context) error {
			for _, found := range complete(a.program(), c.Args().Slice()) {
				write(a.out, []byte(found.name+"\t"+found.help+"\n"))
			}
			return nil
		},
	}
}

// candidate is a word that may stand at a place, and what it is.
type candidate struct{ name, help string }

// complete returns what the last word can be that stands behind the name of the program. None are
// files, and arguments of a script.
func complete(program *cli.App, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	before, word := words[:len(words)-1], words[len(words)-1]
	if slices.Contains(before, "--") {
		return nil
	}
	command, waiting, named := place(program, before)
	if waiting != "" {
		return choices(waiting, word)
	}
	if flag, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(flag, "--") {
		found := choices(strings.TrimLeft(flag, "-"), value)
		for i := range found {
			found[i].name = flag + "=" + found[i].name
		}
		return found
	}
	if strings.HasPrefix(word, "-") {
		return flagsOf(orRun(program, command), word)
	}
	var commands []*cli.Command
	switch {
	case command != nil && !named:
		commands = command.Subcommands
	case command == nil && len(before) == 0:
		commands = program.Commands
	}
	var found []candidate
	for _, sub := range commands {
		if !sub.Hidden && strings.HasPrefix(sub.Name, word) {
			found = append(found, candidate{sub.Name, sub.Usage})
		}
	}
	return found
}

// place finds the command that words name, and the flag among them that waits for its value. Named says
// that a word stands there that is neither: a file.
func place(program *cli.App, words []string) (command *cli.Command, waiting string, named bool) {
	commands := program.Commands
	for i := 0; i < len(words); i++ {
		word := words[i]
		if !strings.HasPrefix(word, "-") || word == "-" {
			j := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(word) })
			if j < 0 || named {
				return orRun(program, command), "", true
			}
			command, commands = commands[j], commands[j].Subcommands
			continue
		}
		name, _, valued := strings.Cut(strings.TrimLeft(word, "-"), "=")
		command = orRun(program, command)
		if valued || !takesValue(command, name) {
			continue
		}
		if i+1 == len(words) {
			return command, name, named
		}
		i++ // over its value
	}
	return command, "", named
}

// orRun is the command run where none is named.
func orRun(program *cli.App, command *cli.Command) *cli.Command {
	if command == nil {
		return program.Command("run")
	}
	return command
}

// takesValue tells whether a flag of a command is followed by its value.
func takesValue(command *cli.Command, name string) bool {
	for _, f := range command.Flags {
		if doc, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), name) {
			return doc.TakesValue()
		}
	}
	return false
}

// flagsOf lists those of a command that begin with a word.
func flagsOf(command *cli.Command, word string) []candidate {
	var found []candidate
	flags := append(slices.Clone(command.Flags), &cli.BoolFlag{Name: "help", Usage: "show help"})
	for _, f := range flags {
		name := "--" + f.Names()[0]
		if doc, ok := f.(cli.DocGenerationFlag); ok && strings.HasPrefix(name, word) {
			found = append(found, candidate{name, strings.ReplaceAll(doc.GetUsage(), "`", "")})
		}
	}
	return found
}

// choices are the values of a flag that begin with a word, for a flag that has but a few.
func choices(flag, word string) []candidate {
	values := map[string][]string{
		"backend": all.Names(), "transport": {"auto", "uds", "tcp", "file"}, "mode": {"project", "strict"},
		"output": {"text", "json", "ndjson"}, "log-level": {"debug", "info", "warn", "error"}, "network": {"none", "bridge"},
	}
	var found []candidate
	for _, value := range values[flag] {
		if strings.HasPrefix(value, word) {
			found = append(found, candidate{value, ""})
		}
	}
	return found
}
