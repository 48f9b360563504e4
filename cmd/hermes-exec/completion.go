package main

import (
	"context"
	"embed"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/internal/near"
)

//go:embed completion
var completions embed.FS

// shells are the shells that completion knows, with the files of their scripts.
func shells() map[string]string {
	return map[string]string{"bash": "bash.sh", "zsh": "zsh.sh", "fish": "fish.fish", "powershell": "powershell.ps1"}
}

// shellNames are the shells that completion knows.
func shellNames() []string { return slices.Sorted(maps.Keys(shells())) }

func (a *app) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print what makes a shell complete command lines",
		UsageText: "hermes-exec completion bash|zsh|fish|powershell",
		Description: described(
			"One of these lines stands in ~/.bashrc, in ~/.zshrc behind compinit, in ~/.config/fish/config.fish, or\n"+
				"in the file that $PROFILE names in PowerShell.",
			"source <(hermes-exec completion bash)",
			"source <(hermes-exec completion zsh)",
			"hermes-exec completion fish | source",
			"hermes-exec completion powershell | Out-String | Invoke-Expression",
		),
		Action: func(c *cli.Context) error {
			file, known := shells()[c.Args().First()]
			const all = "bash, zsh, fish or powershell"
			switch {
			case c.NArg() == 0:
				return usagef("name the shell: " + all)
			case c.NArg() > 1:
				return usagef("unexpected argument %q: one shell at a time, %s", c.Args().Get(1), all)
			case !known:
				return usagef("there is no completion for %s: %s", shorten(c.Args().First()), near.Or(c.Args().First(), shellNames(), all))
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
		Usage:     "print what the last of these words can be, a line each with a tab and what it is; nothing: a file; a line without a word: none",
		Action: func(c *cli.Context) error {
			for _, found := range complete(a.program(), c.Args().Slice(), a.sessionNames(c.Context)) {
				write(a.out, []byte(found.name+"\t"+found.help+"\n"))
			}
			return nil
		},
	}
}

// candidate is a word that may stand at a place, and what it is.
type candidate struct{ name, help string }

// sessionNames returns what lists the sessions that there are. A server that cannot be asked has none.
func (a *app) sessionNames(ctx context.Context) func() []string {
	return func() (names []string) {
		client, err := a.sessionClient()
		if err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second) // somebody waits for the key that was pressed
		defer cancel()
		list, err := client.List(ctx)
		if err != nil {
			return nil
		}
		for _, s := range list {
			names = append(names, s.Name)
		}
		return names
	}
}

// complete returns what the last word can be that stands behind the name of the program. None are
// files, and arguments of a script; one without a name says that it is no file either. Sessions lists
// those that there are.
func complete(program *cli.App, words []string, sessions func() []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	before, word := words[:len(words)-1], words[len(words)-1]
	if slices.Contains(before, "--") {
		return nil
	}
	command, waiting, named := place(program, before)
	if waiting != "" {
		return choices(orRun(program, command), waiting, word, sessions)
	}
	if flag, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(flag, "--") {
		found := choices(orRun(program, command), strings.TrimLeft(flag, "-"), value, sessions)
		for i := range found {
			if found[i].name != "" {
				found[i].name = flag + "=" + found[i].name
			}
		}
		return found
	}
	if strings.HasPrefix(word, "-") {
		return flagsOf(orRun(program, command), word)
	}
	switch {
	case len(before) == 0: // else a file, for run may be left out
		return commandsOf(program.Commands, word)
	case len(before) == 1 && slices.Contains([]string{"help", "h"}, before[0]):
		return orNone(commandsOf(program.Commands, word))
	case command == nil || command.Name == "run":
		return nil
	case named:
		return orNone(nil)
	case len(command.Subcommands) > 0:
		return orNone(commandsOf(command.Subcommands, word))
	}
	return orNone(beginning(argumentsOf(command, sessions), word))
}

// orNone says of nothing that it is no file either.
func orNone(found []candidate) []candidate {
	if len(found) == 0 {
		return []candidate{{}}
	}
	return found
}

// commandsOf lists those commands that begin with a word.
func commandsOf(commands []*cli.Command, word string) (found []candidate) {
	for _, c := range commands {
		if !c.Hidden && strings.HasPrefix(c.Name, word) {
			found = append(found, candidate{c.Name, c.Usage})
		}
	}
	return found
}

// beginning lists those words that begin with one.
func beginning(words []string, word string) (found []candidate) {
	for _, w := range words {
		if strings.HasPrefix(w, word) {
			found = append(found, candidate{w, ""})
		}
	}
	return found
}

// argumentsOf are what the first argument of a command can be that takes no file.
func argumentsOf(command *cli.Command, sessions func() []string) []string {
	switch command.Name {
	case "completion":
		return shellNames()
	case "call":
		return toolNames()
	case "reset", "end":
		return sessions()
	}
	return nil
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
func choices(command *cli.Command, flag, word string, sessions func() []string) []candidate {
	switch flag {
	case "output":
		return orNone(beginning(outputs(command), word))
	case "backend":
		return orNone(beginning(all.Names(), word))
	case "transport":
		return orNone(beginning([]string{"auto", "uds", "tcp", "file"}, word))
	case "mode":
		return orNone(beginning([]string{"project", "strict"}, word))
	case "network": // or the name of another
		return orNone(beginning([]string{"none", "bridge"}, word))
	case "log-level", "level":
		return orNone(beginning(logLevels(), word))
	case "format":
		return orNone(beginning(formatNames(), word))
	case "session":
		return orNone(beginning(sessions(), word))
	case "tools":
		return orNone(moreTools(word))
	}
	if of := placeholder(command, flag); of == "" || slices.Contains([]string{"FILE", "DIR", "PATH"}, of) || strings.HasPrefix(of, "HOST:") {
		return nil
	}
	return orNone(nil)
}

// placeholder is what help calls the value of a flag; "" if the command has no such flag.
func placeholder(command *cli.Command, flag string) string {
	for _, f := range command.Flags {
		if doc, ok := f.(cli.DocGenerationFlag); ok && slices.Contains(f.Names(), flag) {
			_, name, _ := strings.Cut(doc.GetUsage(), "`")
			name, _, _ = strings.Cut(name, "`")
			return name
		}
	}
	return ""
}

// moreTools are lists of tools that begin with a word, in which a comma ends each but the last.
func moreTools(word string) []candidate {
	given := strings.Split(word, ",")
	last := len(given) - 1
	found := beginning(toolNames(), given[last])
	found = slices.DeleteFunc(found, func(c candidate) bool { return slices.Contains(given[:last], c.name) })
	for i := range found {
		found[i].name = strings.Join(append(slices.Clone(given[:last]), found[i].name), ",")
	}
	return found
}
