package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/transport"
	"github.com/hermes-exec/hermes-exec/transport/filerpc"
)

// spoolRows measures tool calls through a spool in memory and on disk.
func spoolRows(ctx context.Context, s setup) ([]row, error) {
	memory, err := os.MkdirTemp("/dev/shm", "hx-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(memory) //nolint:errcheck // a leftover of a benchmark is no failure
	var channels []map[string]string
	var floors []string
	for _, dir := range []string{memory, s.temp} {
		env, err := serveSpool(ctx, dir, filerpc.Transport{})
		if err != nil {
			return nil, err
		}
		floor := filepath.Join(dir, "floor")
		if err := floorSpool(ctx, floor); err != nil {
			return nil, err
		}
		channels, floors = append(channels, env), append(floors, floor)
	}
	polled, err := serveSpool(ctx, s.temp, filerpc.Transport{Poll: true})
	if err != nil {
		return nil, err
	}
	return s.callRPC(ctx, "rpc_spool.py", strings.Join(floors, ":"), append(channels, polled)...)
}

// spoolDir is a backend as far as a spool needs one.
type spoolDir struct {
	backend.Backend
	dir string
}

type spoolShare struct{ root *os.Root }

func (s spoolShare) HostDir() string  { return s.root.Name() }
func (s spoolShare) GuestDir() string { return s.root.Name() }
func (s spoolShare) Root() *os.Root   { return s.root }
func (s spoolShare) Close() error     { return s.root.Close() }

// Share makes a directory.
func (b spoolDir) Share(context.Context, string) (backend.Share, error) {
	dir, err := os.MkdirTemp(b.dir, "spool")
	if err != nil {
		return nil, err
	}
	if err := makeInOut(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return spoolShare{root}, nil
}

func makeInOut(dir string) error {
	for _, sub := range []string{"in", "out"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// serveSpool serves the product below a directory.
func serveSpool(ctx context.Context, dir string, t filerpc.Transport) (map[string]string, error) {
	var e transport.Endpoint
	e, err := t.Open(ctx, spoolDir{dir: dir})
	if err != nil {
		return nil, err
	}
	go e.Serve(ctx, rpcEcho{}) //nolint:errcheck // it ends with the process
	return e.Env(), nil
}

// floorSpool answers files with no check at all: a request is moved to the answers as it is.
func floorSpool(ctx context.Context, dir string) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := makeInOut(dir); err != nil {
		return err
	}
	if err := w.Add(filepath.Join(dir, "in")); err != nil {
		return err
	}
	go func() {
		defer w.Close() //nolint:errcheck // the measurement is over
		for {
			select {
			case e := <-w.Events:
				if name := filepath.Base(e.Name); e.Has(fsnotify.Create) && name[0] != '.' {
					floorAnswer(dir, name)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

func floorAnswer(dir, name string) {
	in, out := filepath.Join(dir, "in", name), filepath.Join(dir, "out", name)
	data, err := os.ReadFile(in)
	if err != nil {
		return
	}
	_ = os.Remove(in)
	if os.WriteFile(out+".new", data, 0o600) != nil || os.Rename(out+".new", out) != nil {
		return
	}
	if f, err := os.OpenFile(filepath.Join(dir, "out", "wake"), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		_, _ = f.Write([]byte{'\n'})
		_ = f.Close()
	}
}
