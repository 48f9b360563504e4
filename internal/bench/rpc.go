package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-exec/hermes-exec/python"
	"github.com/hermes-exec/hermes-exec/transport"
)

// rpcEcho is the tool of the rows of tool calls: it answers with its arguments, after the pause
// that they ask for.
type rpcEcho struct{}

func (rpcEcho) Handle(ctx context.Context, c *transport.Call) (json.RawMessage, error) {
	if c.Tool == "pause" {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return c.Args, nil
}

func (rpcEcho) Refuse(error) {}

// rpcRows measures tool calls over sockets. Product and floor are served by this process and called
// by one interpreter, in turns.
func rpcRows(ctx context.Context, s setup) ([]row, error) {
	unix, err := serveRPC(ctx, s, "unix")
	if err != nil {
		return nil, err
	}
	defer unix.Close() //nolint:errcheck // the measurement is over
	tcp, err := serveRPC(ctx, s, "tcp")
	if err != nil {
		return nil, err
	}
	defer tcp.Close() //nolint:errcheck // the measurement is over
	floor, err := (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(s.temp, "floor"))
	if err != nil {
		return nil, err
	}
	defer floor.Close() //nolint:errcheck // the measurement is over
	go floorEcho(ctx, floor)
	return s.callRPC(ctx, "rpc_calls.py", floor.Addr().String(), unix.Env(), tcp.Env())
}

// serveRPC serves the product on a socket of its own.
func serveRPC(ctx context.Context, s setup, network string) (*transport.Stream, error) {
	address, prefix := "127.0.0.1:0", "tcp://"
	if network == "unix" {
		address, prefix = filepath.Join(s.temp, "product"), ""
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	e := transport.NewStream(ln, prefix+ln.Addr().String(), transport.Options{})
	go e.Serve(ctx, rpcEcho{}) //nolint:errcheck // it ends with the process
	return e, nil
}

// callRPC runs a script that calls the product over each of channels, and the floor at a path, and
// prints the medians.
func (s setup) callRPC(ctx context.Context, script, floor string, channels ...map[string]string) ([]row, error) {
	files, err := rpcFiles(script)
	if err != nil {
		return nil, err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(s.temp, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	given, err := json.Marshal(channels)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.python, filepath.Join(s.temp, script), floor)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(given), os.Stderr
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", script, err)
	}
	return printedRows(string(out))
}

// rpcFiles are a script that calls tools, and what has to lie beside it.
func rpcFiles(script string) (map[string][]byte, error) {
	stub, err := python.Stub()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"rpc_stub.py": stub}
	for _, name := range []string{script, "rpc_stub_loader.py"} {
		if files[name], err = scripts.ReadFile("scripts/" + name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// printedRows are the rows that a script has printed.
func printedRows(out string) ([]row, error) {
	var rows []row
	for line := range strings.Lines(out) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("a script printed %q: %w", line, err)
		}
		rows = append(rows, newRow(r.Name, r.Unit, r.Product, r.Floor, r.Goal))
	}
	return rows, nil
}

// floorEcho answers lines with no check at all: the object comes back as it came.
func floorEcho(ctx context.Context, ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go floorEchoConn(ctx, conn)
	}
}

func floorEchoConn(ctx context.Context, conn net.Conn) {
	defer conn.Close() //nolint:errcheck // the peer has gone
	lines := bufio.NewReaderSize(conn, 64<<10)
	for ctx.Err() == nil {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			head := bytes.Clone(line)
			line, err = lines.ReadBytes('\n')
			line = append(head, line...)
		}
		if err != nil {
			return
		}
		if bytes.HasPrefix(line, []byte(`{"pause"`)) {
			<-time.After(10 * time.Millisecond)
		}
		if _, err := conn.Write(line); err != nil {
			return
		}
	}
}
