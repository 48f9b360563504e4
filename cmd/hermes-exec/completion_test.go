//go:build unix

package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ words, want string }{
		{"", "run repl session doctor stubs schema tools prune config logs completion man version"},
		{"re", "repl"},
		{"complete", ""}, // hidden
		{"--ba", "--backend"},
		{"--backend ", "docker local ssh"},
		{"--backend d", "docker"},
		{"--backend=d", "--backend=docker"},
		{"--timeout ", "NONE"},
		{"--env=", "NONE"},
		{"--cwd ", ""}, // a directory
		{"--volume /", ""},
		{"--timeout 3 --outp", "--output"},
		{"--quiet --outp", "--output"},
		{"run --output ", "text json ndjson"},
		{"run --output json --tra", "--transport --trace"},
		{"run --output json ru", ""}, // a file
		{"job.py ", ""},
		{"job.py --outp", "--output"}, // which is told to stand before it
		{"job.py -- --outp", ""},
		{"run ", ""},
		{"session ", "list reset end"},
		{"session e", "end"},
		{"session end ", "work web"},
		{"session reset we", "web"},
		{"session end x", "NONE"},
		{"session end work ", "NONE"},
		{"--session ", "work web"},
		{"run --session=wo", "--session=work"},
		{"repl --session new", "NONE"},
		{"completion ", "bash fish powershell zsh"},
		{"completion f", "fish"},
		{"completion fish ", "NONE"},
		{"schema --format ", "openai anthropic mcp"},
		{"schema --format=m", "--format=mcp"},
		{"tools call ", "patch read_file search_files search terminal web_extract web_search write_file"},
		{"tools call --timeout 3 te", "terminal"},
		{"tools call terminal ", "NONE"},
		{"--tools read_file,t", "read_file,terminal"},
		{"--tools=read_file,r", "NONE"},
		{"stubs --tools wri", "write_file"},
		{"help do", "doctor"},
		{"help x", "NONE"},
		{"doctor --output ", "text json"},
		{"config show --output ", "text json"},
		{"prune --output n", "NONE"},
		{"repl --output n", "ndjson"},
		{"logs --level w", "warn"},
		{"--backend x", "NONE"},
		{"stubs ", "NONE"},
		{"doctor --cwd ", ""},
		{"session list --he", "--help"},
		{"tools c", "call"},
		{"-", "--backend"},
	} {
		var got []string
		for _, c := range complete((&app{}).program(), strings.Split(tt.words, " "), func() []string { return []string{"work", "web"} }) {
			got = append(got, cmp.Or(c.name, "NONE"))
		}
		if tt.words == "-" && len(got) > 20 {
			got = got[:1]
		}
		if all := strings.Join(got, " "); all != tt.want {
			t.Errorf("%q: %q, want %q", tt.words, all, tt.want)
		}
	}
}

// A name with a space is completed to one word.
func TestCompletionOfSpacesInBash(t *testing.T) {
	t.Parallel()
	code := `source <(hermes-exec completion bash)
		fake() { printf 'a b\tbusy\nc,d\n'; }
		COMP_WORDS=(fake session end ''); COMP_CWORD=3; _hermes_exec; echo "${COMPREPLY[*]}"`
	out, err := exec.CommandContext(t.Context(), testenv.Require(t, "bash"), "-c", code).CombinedOutput()
	if err != nil || string(out) != "a\\ b c,d\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// The scripts of completion do in their shells what they are there for. PowerShell's is not tried: no
// machine of ours has one.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if err := os.WriteFile(empty+"/job.py", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for shell, code := range map[string]string{
		"bash": `source <(hermes-exec completion bash)
			ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hermes_exec; echo "${COMPREPLY[*]}"; }
			ask hermes-exec se; ask hermes-exec run --output ''; ask hermes-exec --backend d; ask hermes-exec job.py --; complete -p hermes-exec
			ask hermes-exec completion x; ask hermes-exec schema --format = ''`, // as bash takes it apart
		"zsh": `autoload -Uz compinit && compinit -D -u
			source <(hermes-exec completion zsh)
			_describe() { for line in "${found[@]}"; do print -rn -- "${line%%:*} "; done; print }
			_files() { print files }
			ask() { words=("$@"); CURRENT=$#; _hermes_exec }
			ask hermes-exec se; ask hermes-exec run --output ''; ask hermes-exec --backend d; ask hermes-exec job.py --; ask hermes-exec run ''; ask hermes-exec completion x; print; ask hermes-exec schema --format ''`,
		"fish": `hermes-exec completion fish | source
			for line in "hermes-exec se" "hermes-exec run --output " "hermes-exec --backend d" "hermes-exec job.py --" "hermes-exec run " "hermes-exec completion x" "hermes-exec schema --format "
				echo (complete -C $line | string replace -r '\t.*' '')
			end`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), testenv.Require(t, shell), "-c", code)
			cmd.Dir = empty
			cmd.Env = append(os.Environ(), "HOME="+empty, "ZDOTDIR="+empty) // PATH has hermes-exec: see TestMain
			out, err := cmd.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			for i, line := range lines {
				lines[i] = strings.TrimSpace(line)
			}
			if err != nil || len(lines) != 7 || lines[0] != "session" || lines[2] != "docker" {
				t.Fatalf("%v:\n%s", err, out)
			}
			formats := strings.Fields(lines[1])
			if slices.Sort(formats); !slices.Equal(formats, []string{"json", "ndjson", "text"}) {
				t.Errorf("values: %v", formats)
			}
			if !strings.Contains(lines[3], "--artifacts") || !strings.Contains(lines[3], "--volume") {
				t.Errorf("flags: %s", lines[3])
			}
			if last := map[string]string{"bash": "complete -o bashdefault -o default -F _hermes_exec hermes-exec", "zsh": "files", "fish": "job.py"}; lines[4] != last[shell] {
				t.Errorf("files: %q", lines[4])
			}
			if lines[5] != "" {
				t.Errorf("neither a word nor a file: %q", lines[5])
			}
			formats = strings.Fields(lines[6])
			if slices.Sort(formats); !slices.Equal(formats, []string{"anthropic", "mcp", "openai"}) {
				t.Errorf("formats of schema: %v", formats)
			}
		})
	}
}

// A manual page is what man shows without a complaint, and says what --help says.
func TestManPage(t *testing.T) {
	t.Parallel()
	text := manPage((&app{}).program())
	for _, want := range []string{".SH \"COMMANDS\"\n", "\n.TP\n\\-\\-artifacts DIR\n", "124\nThe run took", `.SS "hermes\-exec prune`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "`") || strings.Contains(text, "WORDS") {
		t.Error("a placeholder, or a hidden command")
	}
	man, err := exec.LookPath("man")
	if err != nil {
		testenv.Missing(t, "man", err.Error())
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), man, "--warnings", "-l", "-")
	cmd.Stdin, cmd.Env = strings.NewReader(text), append(os.Environ(), "MANWIDTH=100", "LC_ALL=C.UTF-8")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() > 0 || !strings.Contains(string(out), "EXIT STATUS") {
		t.Errorf("%v %s", err, complaints.String())
	}
}
