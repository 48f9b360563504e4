//go:build unix

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// elsewhere are the examples that need more than this machine is sure to have.
func elsewhere() map[string]string {
	return map[string]string{
		"hermes-exec --backend docker job.py":                                          "an engine and an image",
		"hermes-exec run --backend docker --image python:3.13-slim --mount-cwd job.py": "an engine and an image",
		"hermes-exec doctor --backend docker":                                          "an engine and an image",
		"hermes-exec --backend ssh --host me@build1 job.py":                            "a host",
		"hermes-exec prune --host me@build1":                                           "a host",
		"hermes-exec logs --level warn --follow":                                       "somebody who ends it",
		"hermes-exec man | man -l -":                                                   "man: see TestManPage",
		"source <(hermes-exec completion zsh)":                                         "zsh: see TestCompletion",
		"hermes-exec completion fish | source":                                         "fish: see TestCompletion",
		"hermes-exec completion powershell | Out-String | Invoke-Expression":           "PowerShell",
		"hermes-exec FILE":                                                             "a file",
	}
}

// examplesOf are the examples of a text: indented lines that call the program.
func examplesOf(text string) (list []string) {
	for line := range strings.Lines(text) {
		example := strings.TrimSpace(line)
		if strings.HasPrefix(line, "  ") && strings.Contains(example, "hermes-exec") {
			list = append(list, example)
		}
	}
	return list
}

// Every example that help, the manual page and the welcome give works as it is copied, one after another.
func TestHelpExamples(t *testing.T) {
	program := (&app{}).program()
	examples := append(examplesOf(welcome()), examplesOf(program.Description)...)
	var add func(commands []*cli.Command)
	add = func(commands []*cli.Command) {
		for _, c := range commands {
			found := examplesOf(c.Description)
			if len(found) == 0 && !c.Hidden && len(c.Subcommands) == 0 && c.Name != "reset" && c.Name != "end" { // those of session have them
				t.Errorf("%s has no example", c.Name)
			}
			examples = append(examples, found...)
			add(c.Subcommands)
		}
	}
	add(program.Commands)

	python, skipped := testenv.Python(t), elsewhere()
	s := newShell(t)
	if err := os.WriteFile(s.dir+"/job.py", []byte("print('it works')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		if skipped[example] != "" {
			delete(skipped, example)
			continue
		}
		command := s.command()
		cmd := exec.Command(testenv.Require(t, "bash"), "-c", example)
		cmd.Dir, cmd.Env = s.dir, append(command.Env,
			"DOCKER_HOST=unix:///nowhere/docker.sock", // prune looks at the engine, if there is one
			"PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", example, err, out)
		}
	}
	for _, example := range slices.Sorted(maps.Keys(skipped)) {
		t.Errorf("no example any more: %s", example)
	}
}
