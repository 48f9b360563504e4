package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// beFloor is this program in the place of hermes-exec: the same work with nothing around it. The
// arguments are the interpreter, the script and the script's arguments; of a container they are the
// engine's socket and a file that describes it.
func beFloor(ctx context.Context, name string, args []string, out io.Writer) error {
	if len(args) < 2 {
		return fmt.Errorf("floor %s: arguments are missing", name)
	}
	switch name {
	case "run":
		return floorRun(ctx, args, out)
	case "calls":
		return floorCalls(ctx, args, out)
	case "read":
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Stdout = counter{}
		return cmd.Run()
	case "container":
		return beContainer(ctx, args[0], args[1], out)
	case "session":
		return beSession(args)
	case "embed":
		return embedCalls(ctx, args, out)
	default:
		return fmt.Errorf("unknown floor %q", name)
	}
}

// counter is a reader at the end of a bare pipe: the writer is no file, so that os/exec makes one.
type counter struct{}

func (counter) Write(p []byte) (int, error) { return len(p), nil }

// floorRun runs a script and prints what it printed as a JSON object.
func floorRun(ctx context.Context, args []string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	data, err := cmd.Output()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(map[string]any{"output": string(data)})
}

// floorCalls is floorRun with a socket that answers JSON lines; its path is the script's last
// argument.
func floorCalls(ctx context.Context, args []string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "hx-floor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a leftover of a benchmark is no failure
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- echoOne(l) }()
	if err := floorRun(ctx, append(args, path), out); err != nil {
		_ = l.Close()
		return errors.Join(err, <-served)
	}
	return <-served
}

// echoOne serves one connection: a JSON line in, a JSON line out.
func echoOne(l net.Listener) error {
	c, err := l.Accept()
	_ = l.Close()
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // the script has read all that it wanted
	lines := bufio.NewReader(c)
	var reply bytes.Buffer
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the script has ended
		}
		var request struct {
			ID   int64           `json:"id"`
			Args json.RawMessage `json:"args"`
		}
		if err := json.Unmarshal(line, &request); err != nil {
			return err
		}
		reply.Reset()
		fmt.Fprintf(&reply, `{"id":%d,"result":%s}`+"\n", request.ID, request.Args)
		if _, err := c.Write(reply.Bytes()); err != nil {
			return err
		}
	}
}
