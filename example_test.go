package hermes_test

import (
	"context"
	"fmt"
	"os"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
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
