package hermes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/tool"
)

// A script runs on this machine, with the host's tools as functions.
func ExampleOpen() {
	ctx := context.Background()
	environ := map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")}

	env, err := hermes.Open(ctx, hermes.Options{
		Settings: config.Defaults(),
		Environ:  environ,
		Dir:      os.TempDir(),
		Openers:  all.Openers(all.Host{Env: environ, Dir: os.TempDir()}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = env.Close() }()

	result := env.Run(ctx, hermes.Script{Code: []byte(`
from hermes_tools import terminal
print(terminal("echo hello from the host")["output"], end="")
`)})
	fmt.Print(result.Output)
	fmt.Println(result.Status, result.ToolCallsMade)
	// Output:
	// hello from the host
	// success 1
}

// stock is a tool of the embedding program: scripts call it as a function.
type stock map[string]int

// Spec implements tool.Tool.
func (stock) Spec() tool.Spec {
	return tool.Spec{
		Name: "stock", Summary: "Tells how many pieces of an article are there.", Returns: `{"pieces": int}`,
		Params: []tool.Param{{Name: "article", Type: tool.String, Required: true, Doc: "the name of the article"}},
	}
}

// Call implements tool.Tool.
func (s stock) Call(_ context.Context, _ *tool.Env, args json.RawMessage) (json.RawMessage, error) {
	var query struct{ Article string }
	if err := json.Unmarshal(args, &query); err != nil {
		return nil, err
	}
	pieces, ok := s[query.Article]
	if !ok {
		return nil, fmt.Errorf("there is no article %q", query.Article)
	}
	return fmt.Appendf(nil, `{"pieces":%d}`, pieces), nil
}

// A session keeps its variables between cells. Output comes live, and the cells call a function of
// the program that embeds the library.
func ExampleSessions() {
	ctx := context.Background()
	environ := map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")}
	options := hermes.Options{
		Settings: config.Defaults(),
		Environ:  environ,
		Dir:      os.TempDir(),
		Openers:  all.Openers(all.Host{Env: environ, Dir: os.TempDir()}),
		Tools:    []tool.Tool{&stock{"apples": 3, "pears": 4}},
	}
	sessions := hermes.NewSessions(nil)
	defer func() { _ = sessions.Close() }()

	for _, code := range []string{
		"from hermes_tools import stock\npieces = {a: stock(a)['pieces'] for a in ('apples', 'pears')}",
		"print(pieces, sum(pieces.values()))",
	} {
		result := sessions.Run(ctx, "fruit", options, hermes.Script{Code: []byte(code), Stdout: os.Stdout}, false)
		fmt.Println(result.Status, result.ToolCallsMade, result.Kernel.ExecutionCount)
	}
	// Output:
	// success 2 1
	// {'apples': 3, 'pears': 4} 7
	// success 0 2
}
