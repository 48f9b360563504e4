package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend/all"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/tool"
)

// embedCalls is a program that embeds the library and offers one tool. The arguments are the
// interpreter, the script and the number of calls.
func embedCalls(ctx context.Context, args []string, out io.Writer) (err error) {
	if len(args) != 3 {
		return fmt.Errorf("embed: three arguments wanted, not %v", args)
	}
	s := config.Defaults()
	s.Python = args[0]
	if s.MaxToolCalls, err = strconv.Atoi(args[2]); err != nil {
		return err
	}
	environ := map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	env, err := hermes.Open(ctx, hermes.Options{
		Settings: s, Environ: environ, Dir: dir, Tools: []tool.Tool{echo{}},
		Openers: all.Openers(all.Host{Env: environ, Dir: dir}),
	})
	if err != nil {
		return err
	}
	r := env.Run(ctx, hermes.Script{File: args[1], Args: args[2:]})
	if err := env.Close(); err != nil {
		return err
	}
	if r.Status != hermes.Success || r.ToolCallsMade != int64(s.MaxToolCalls) {
		return fmt.Errorf("%s after %d calls: %s", r.Status, r.ToolCallsMade, r.Error)
	}
	line, err := hermes.JSON(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", line)
	return err
}

// echo is a tool that does nothing.
type echo struct{}

var _ tool.Tool = echo{}

// Spec describes echo.
func (echo) Spec() tool.Spec {
	return tool.Spec{
		Name: "echo", Summary: "Return the text.",
		Params:  []tool.Param{{Name: "text", Type: tool.String, Required: true}},
		Returns: `{"text": str}`,
	}
}

// Call returns the arguments.
func (echo) Call(_ context.Context, _ *tool.Env, args json.RawMessage) (json.RawMessage, error) {
	return args, nil
}
