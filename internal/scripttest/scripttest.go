// Package scripttest is a table of scripts that give the same result wherever they run: on every
// backend and over every transport, but for what names these.
package scripttest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// rowLimit bounds the context of one row. It is long because slow machines are no failures.
const rowLimit = 2 * time.Minute

// Config says where the table runs.
type Config struct {
	// Options returns the options for a fresh environment. Its variables are, besides what it needs,
	// those that Variables names. The table changes the settings before it opens the environment.
	Options func(t *testing.T) hermes.Options

	// Dir is the working directory there; "" is the caller's.
	Dir string

	// Transport is "uds", "tcp" or "file".
	Transport string

	// Lacks names rows that cannot pass there, with the reason why.
	Lacks map[string]string
}

// Variables are set in every environment that the table runs in: as the environment's own, and on
// the host.
func Variables() map[string]string {
	return map[string]string{
		"RANDOM_X": "1", "HERMES_BASE_URL": "1", "HERMES_INTERACTIVE": "1", "HERMES_KANBAN_DB": "1",
		"HERMES_PROFILE": "prof", "HERMES_CONFIG": "conf", "HERMES_ENV": "envi",
		"OPENAI_API_KEY": "sk-openai-value", "FIRECRAWL_API_KEY": "fc-value", "ANTHROPIC_API_KEY": "ant-value",
		"GITHUB_TOKEN": "gh-value", "MODAL_TOKEN_ID": "modal-id", "MODAL_TOKEN_SECRET": "modal-secret",
		"DB_PASSWORD": "db-pass-word", "MY_PASSWD": "x", "AUTH_CREDENTIAL": "x", "aws_secret": "x", "AWS_ACCESS_ID": "x",
		"SENTRY_DSN": "x", "SLACK_WEBHOOK": "x", "DATABASE_URL": "postgres://u:p@h/db", "LC_URL": "postgres://u:p@h/db",
		"TENOR_API_KEY": "tenor-secret-value", "AUXILIARY_VISION_API_KEY": "x",
	}
}

// Results are results by row, without what differs from place to place.
type Results map[string]string

// TestScripts runs all rows and returns what they came to.
func TestScripts(t *testing.T, c Config) Results {
	t.Helper()
	results := &collector{results: Results{}}
	t.Run("shared", func(t *testing.T) {
		shared := open(t, c, nil)
		for _, r := range rows() {
			if r.settings == nil {
				t.Run(r.name, func(t *testing.T) { c.run(t, r, results, shared) })
			}
		}
	})
	t.Run("own", func(t *testing.T) {
		for _, r := range rows() {
			if r.settings != nil {
				t.Run(r.name, func(t *testing.T) { c.run(t, r, results, nil) })
			}
		}
	})
	return results.results
}

// Same fails the test for every row that came to something else there than here.
func Same(t *testing.T, here, there Results) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if other, ok := there[name]; ok && here[name] != other {
			t.Errorf("%s:\n%s\n%s", name, here[name], other)
		}
	}
}

// open opens an environment that is closed at the end of the test.
func open(t *testing.T, c Config, change func(*config.Settings)) *hermes.Env {
	t.Helper()
	o := c.Options(t)
	o.Settings.Transport = c.Transport
	o.Settings.Timeout = time.Minute
	if change != nil {
		change(&o.Settings)
	}
	e, err := hermes.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	testenv.CloseAfter(t, e)
	return e
}

// run runs one row.
func (c Config) run(t *testing.T, r row, results *collector, env *hermes.Env) {
	t.Parallel()
	if why, lacks := c.Lacks[r.name]; lacks {
		t.Skip(why)
	}
	if env == nil {
		env = open(t, c, r.settings)
	}
	ctx, cancel := context.WithTimeout(t.Context(), rowLimit)
	defer cancel()
	s := hermes.Script{Code: []byte(r.code), Args: r.args, Trace: r.trace}
	if r.stdin != "" {
		s.Stdin = strings.NewReader(r.stdin)
	}
	got := env.Run(ctx, s)
	check(t, r, got)
	if got.Transport != hermes.Name(c.Transport) && got.Transport != "" || got.Execution != "oneshot" && got.Execution != "" {
		t.Errorf("transport %q, execution %q", got.Transport, got.Execution)
	}
	if !r.local {
		results.add(t, r.name, env, got)
	}
}

// check compares a result with what a row wants.
func check(t *testing.T, r row, got *hermes.Result) {
	t.Helper()
	want := r.want
	if want.status == "" {
		want.status = hermes.Success
	}
	code := -1000
	if got.ExitCode != nil {
		code = *got.ExitCode
	}
	if got.Status != want.status || got.ErrorKind != want.kind || code != want.code {
		t.Errorf("status %s, kind %q, code %d; want %s, %q, %d", got.Status, got.ErrorKind, code, want.status, want.kind, want.code)
	}
	if want.output != nil && got.Output != *want.output {
		t.Errorf("output %.2000q\nwant   %.2000q", got.Output, *want.output)
	}
	if got.ToolCallsMade != want.made || got.ToolCallsRefused != want.refused {
		t.Errorf("%d calls made, %d refused; want %d, %d", got.ToolCallsMade, got.ToolCallsRefused, want.made, want.refused)
	}
	for what, texts := range map[string][2][]string{
		"output": {{got.Output}, want.outputHas}, "error": {{got.Error}, want.errorHas},
		"hint": {{got.Hint}, want.hintHas}, "warning": {{got.Warning}, want.warningHas},
	} {
		for _, part := range texts[1] {
			if !strings.Contains(texts[0][0], part) {
				t.Errorf("%s lacks %q: %.2000q", what, part, texts[0][0])
			}
		}
	}
	if want.hintHas == nil && got.Hint != "" {
		t.Errorf("hint %q", got.Hint)
	}
	if r.check != nil {
		r.check(t, got)
	}
	if t.Failed() {
		line, _ := hermes.JSON(got)
		t.Logf("%.4000s", line)
	}
}

// collector gathers results from parallel tests.
type collector struct {
	mu      sync.Mutex
	results Results
}

// add keeps what a row came to, with a neutral name for all that differs from place to place.
func (c *collector) add(t *testing.T, name string, env *hermes.Env, r *hermes.Result) {
	t.Helper()
	plain := *r
	plain.Duration, plain.Backend, plain.Transport, plain.Fallback = 0, "", "", nil
	if plain.StdoutSpillPath != "" {
		plain.StdoutSpillPath = "spill"
	}
	for i := range plain.ToolCalls {
		plain.ToolCalls[i].Duration = 0
	}
	line, err := hermes.JSON(&plain)
	if err != nil {
		t.Error(err)
	}
	info := env.Info()
	text := strings.NewReplacer(info.Scratch, "SCRATCH", info.Dir, "DIR").Replace(string(line))
	if r.StdoutSpillPath != "" {
		text = strings.ReplaceAll(text, r.StdoutSpillPath, "spill")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[name] = unrandom(text)
}

// unrandom replaces the random part of staging directories, and the temporary directory that they are in.
func unrandom(text string) string {
	const prefix = "hermes_sandbox_"
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, prefix)
		if !found {
			b.WriteString(before)
			return b.String()
		}
		if strings.HasSuffix(before, "/") && len(before) > 1 {
			before = before[:strings.LastIndexAny(before, " ('\"")+1]
		}
		b.WriteString(before)
		b.WriteString("STAGING")
		text = strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz0123456789")
	}
}
