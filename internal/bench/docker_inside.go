package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"path/filepath"
	"strings"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/backend/docker"
	"github.com/hermes-exec/hermes-exec/transport"
	"github.com/hermes-exec/hermes-exec/transport/filerpc"
	"github.com/hermes-exec/hermes-exec/transport/uds"
)

// insideRows measures what is done in a container that is there. Another one, like it, has the floors:
// what the product does over the stdio of its agent, they do over that of a bare exec.
func (s setup) insideRows(ctx context.Context, e engine, spec map[string]any) (rows []row, err error) {
	id, err := e.keep(ctx, running(spec, "sleep", "infinity"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.remove(context.WithoutCancel(ctx), id)) }()
	floor, err := e.exec(ctx, id, "python3", "-c", lineKernel)
	if err != nil {
		return nil, err
	}
	defer floor.Close() //nolint:errcheck // the measurement is over
	for _, measure := range []func() ([]row, error){
		func() ([]row, error) { return s.dockerCellRows(ctx, floor) },
		func() ([]row, error) { return s.dockerFileRows(ctx, e, floor) },
		func() ([]row, error) { return s.relayedCallRows(ctx, e, id) },
	} {
		more, err := measure()
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// keep starts a container that stays, as the user of this machine's directories.
func (e engine) keep(ctx context.Context, spec map[string]any) (id string, err error) {
	var made struct{ ID string }
	spec["User"] = "0:0"
	if err := e.post(ctx, "/containers/create", spec, &made); err != nil {
		return "", err
	}
	return made.ID, e.post(ctx, "/containers/"+made.ID+"/start", nil, nil)
}

// remove ends a container.
func (e engine) remove(ctx context.Context, id string) error {
	return e.ask(ctx, "DELETE", "/containers/"+id+"?force=1", nil, nil)
}

// dockerCellRows measures a cell of a session in a container.
func (s setup) dockerCellRows(ctx context.Context, floor *stdio) (rows []row, err error) {
	sessions, o := hermes.NewSessions(nil), s.options()
	defer func() { err = errors.Join(err, sessions.Close()) }()
	o.Settings.Backend, o.Settings.Docker.Image, o.Settings.Python = "docker", image, ""
	run := func() error { return cell(ctx, sessions, "docker", o) }
	if err := run(); err != nil {
		return nil, err
	}
	p, f, err := interleave(10, each(100, run), each(100, lineCell(floor, floor, "print(1)")))
	return []row{newRow("docker warm cell", "ms", ms(p), ms(f), atMost(1))}, err
}

// dockerFileRows measures a file that is put into a container.
func (s setup) dockerFileRows(ctx context.Context, e engine, floor *stdio) (rows []row, err error) {
	b, err := docker.Open(ctx, s.dockerConfig(e))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	text := strings.Repeat("x", 10_000)
	name := path.Join(b.Info().Scratch, "file")
	put := func() error { return b.Put(ctx, name, strings.NewReader(text), 0o600) }
	write := fmt.Sprintf("f = open('/tmp/file', 'w'); f.write('%s'); f.close(); print(1)", text)
	p, f, err := interleave(10, each(50, put), each(50, lineCell(floor, floor, write)))
	return []row{newRow("docker, a file of 10 KB in", "ms", ms(p), ms(f), atMost(4))}, err
}

// plan is a row of calls from inside an environment.
type plan struct {
	Name    string            `json:"name"`
	Channel map[string]string `json:"channel"`
	Kind    string            `json:"kind"`  // of the floor: socket or spool
	Floor   string            `json:"floor"` // its path inside
	Unit    string            `json:"unit"`  // µs or ms
	Goal    goal              `json:"goal"`

	Blocks int `json:"blocks"` // product and floor in turns
	Calls  int `json:"calls"`  // of each

	transport transport.Transport
}

// dockerCallRows measures calls where container and host see one directory.
func dockerCallRows(ctx context.Context, s setup) (rows []row, err error) {
	e, err := findEngine(ctx)
	if err != nil {
		return nil, err
	}
	cfg := s.dockerConfig(e)
	cfg.Volumes = []string{s.temp + ":" + benchDir}
	b, err := docker.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	socket, err := (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(s.temp, "mounted"))
	if err != nil {
		return nil, err
	}
	defer socket.Close() //nolint:errcheck // the measurement is over
	go floorEcho(ctx, socket)
	if err := floorSpool(ctx, filepath.Join(s.temp, "spool")); err != nil {
		return nil, err
	}
	return callInside(
		ctx, b, []string{"taskset", "-c", "0"}, // as this process is
		plan{Name: "docker tool call, mounted uds, 100 B", transport: uds.Transport{}, Kind: "socket", Floor: path.Join(benchDir, "mounted"), Goal: ratioAtMost(1.5), Unit: "µs", Blocks: 20, Calls: 50},
		plan{Name: "docker spool call, mounted, 100 B", transport: filerpc.Transport{}, Kind: "spool", Floor: path.Join(benchDir, "spool"), Goal: ratioAtMost(1.5), Unit: "µs", Blocks: 20, Calls: 50},
	)
}

// relayedCallRows measures calls that the agent relays and mirrors. The floor of both is a bare relay.
func (s setup) relayedCallRows(ctx context.Context, e engine, id string) (rows []row, err error) {
	cfg := s.dockerConfig(e)
	cfg.Image, cfg.Container = "", id
	b, err := docker.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	relay, err := scripts.ReadFile("scripts/floor_relay.py")
	if err != nil {
		return nil, err
	}
	for _, one := range []plan{
		{Name: "docker tool call, relayed uds, 100 B", transport: uds.Transport{}, Kind: "socket", Floor: "/tmp/relay1", Goal: ratioAtMost(1.5), Unit: "µs", Blocks: 20, Calls: 50},
		{Name: "docker spool call, mirrored, 100 B", transport: filerpc.Transport{}, Kind: "socket", Floor: "/tmp/relay2", Unit: "µs", Blocks: 20, Calls: 50}, // for comparison
	} {
		stream, err := e.exec(ctx, id, "python3", "-c", string(relay), one.Floor)
		if err != nil {
			return rows, err
		}
		var ready [6]byte
		if _, err := stream.Read(ready[:]); err != nil {
			return rows, err
		}
		go floorEchoPieces(stream)
		more, err := callInside(ctx, b, nil, one)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// floorEchoPieces answers the pieces of a relay: each comes back as it came.
func floorEchoPieces(stream io.ReadWriter) {
	in := bufio.NewReaderSize(stream, 64<<10)
	for {
		head, err := in.Peek(8)
		if err != nil {
			return // the measurement is over
		}
		piece := make([]byte, 8+binary.BigEndian.Uint32(head[4:]))
		if _, err := io.ReadFull(in, piece); err != nil {
			return
		}
		if _, err := stream.Write(piece); err != nil {
			return
		}
	}
}

// callInside runs plans in an environment, whose transports it serves, behind the words of a command.
func callInside(ctx context.Context, b backend.Backend, command []string, plans ...plan) (rows []row, err error) {
	for i, p := range plans {
		endpoint, err := p.transport.Open(ctx, b)
		if err != nil {
			return nil, err
		}
		defer endpoint.Close()            //nolint:errcheck // the measurement is over
		go endpoint.Serve(ctx, rpcEcho{}) //nolint:errcheck // as above
		plans[i].Channel = endpoint.Env()
	}
	const script = "rpc_container.py"
	files, err := rpcFiles(script)
	if err != nil {
		return nil, err
	}
	info := b.Info()
	for name, data := range files {
		if err := b.Put(ctx, path.Join(info.Scratch, name), bytes.NewReader(data), 0o600); err != nil {
			return nil, err
		}
	}
	given, err := json.Marshal(plans)
	if err != nil {
		return nil, err
	}
	var out, errOut bytes.Buffer
	p, err := b.Start(ctx, backend.Cmd{
		Args: append(command, info.Python.Path, path.Join(info.Scratch, script)), Env: info.Env,
		Stdin: bytes.NewReader(given), Stdout: &out, Stderr: &errOut,
	})
	if err != nil {
		return nil, err
	}
	if err := p.Wait(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", script, err, errOut.String())
	}
	return printedRows(out.String())
}
