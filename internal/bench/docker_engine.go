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
	"net/http"
	"net/url"
	"os/exec"
	"strings"
)

// engine is a Docker engine at a Unix socket, asked without a library: the least that a program has to
// send for the same result as the product.
type engine struct{ socket string }

// findEngine returns the engine that the docker program talks to.
func findEngine(ctx context.Context) (engine, error) {
	out, err := exec.CommandContext(ctx, "docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}").Output()
	if err != nil {
		return engine{}, fmt.Errorf("no docker: %w", err)
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "unix://")
	if !ok {
		return engine{}, fmt.Errorf("the engine is not at a Unix socket: %s", out)
	}
	return engine{path}, nil
}

// host is the engine as DOCKER_HOST takes it.
func (e engine) host() string { return "unix://" + e.socket }

// post sends a request and reads the answer into out, which may be nil.
func (e engine) post(ctx context.Context, path string, body, out any) error {
	return e.ask(ctx, http.MethodPost, path, body, out)
}

// ask sends a request on a connection of its own, as a program has to that was started for it.
func (e engine) ask(ctx context.Context, method, path string, body, out any) error {
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
		},
	}}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://docker"+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err = io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s %s", path, answer.Status, data)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	return err
}

// stdio is the stdio of a process in a container: written to its stdin, read from its stdout.
type stdio struct {
	net.Conn
	in   *bufio.Reader
	rest int64 // of the frame that is being read
}

// hijack sends a request whose answer is a stream.
func (e engine) hijack(ctx context.Context, path, body string) (*stdio, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	s := &stdio{Conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
	if err == nil {
		var answer *http.Response
		if answer, err = http.ReadResponse(s.in, nil); err == nil && answer.StatusCode != http.StatusSwitchingProtocols {
			err = fmt.Errorf("%s: %s", path, answer.Status)
			answer.Body.Close()
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// Read reads stdout and passes over the headers between its frames. There is no stderr.
func (s *stdio) Read(p []byte) (int, error) {
	for s.rest == 0 {
		var header [8]byte
		if _, err := io.ReadFull(s.in, header[:]); err != nil {
			return 0, err
		}
		s.rest = int64(binary.BigEndian.Uint32(header[4:]))
		if header[0] != 1 {
			text, err := io.ReadAll(io.LimitReader(s.in, s.rest))
			return 0, errors.Join(err, fmt.Errorf("stderr: %s", text))
		}
	}
	n, err := s.in.Read(p[:min(int64(len(p)), s.rest)])
	s.rest -= int64(n)
	return n, err
}

// run is the bare sequence of a container that runs once and removes itself. What it prints goes to out.
func (e engine) run(ctx context.Context, spec map[string]any, out io.Writer) error {
	var made struct{ ID string }
	if err := e.post(ctx, "/containers/create", spec, &made); err != nil {
		return err
	}
	s, err := e.hijack(ctx, "/containers/"+made.ID+"/attach?stream=1&stdin=1&stdout=1&stderr=1", "")
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // it has been read to its end
	if err := e.post(ctx, "/containers/"+made.ID+"/start", nil, nil); err != nil {
		return err
	}
	if _, err := io.Copy(out, s); err != nil {
		return err
	}
	err = e.post(ctx, "/containers/"+made.ID+"/wait?condition=removed", nil, nil)
	if err != nil && strings.Contains(err.Error(), "No such container") {
		return nil // it is removed already
	}
	return err
}

// exec starts a command in a container.
func (e engine) exec(ctx context.Context, id string, argv ...string) (*stdio, error) {
	var made struct{ ID string }
	spec := map[string]any{"AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "Cmd": argv}
	if err := e.post(ctx, "/containers/"+id+"/exec", spec, &made); err != nil {
		return nil, err
	}
	return e.hijack(ctx, "/exec/"+made.ID+"/start", `{"Detach":false,"Tty":false}`)
}

// inspect describes the only container with a label so that one like it can be made.
func (e engine) inspect(ctx context.Context, label string) (map[string]any, error) {
	filters, err := json.Marshal(map[string][]string{"label": {label}})
	if err != nil {
		return nil, err
	}
	var list []struct{ ID string }
	if err := e.ask(ctx, http.MethodGet, "/containers/json?filters="+url.QueryEscape(string(filters)), nil, &list); err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("%d containers with label %s where one was expected", len(list), label)
	}
	var found struct{ Config, HostConfig map[string]any }
	if err := e.ask(ctx, http.MethodGet, "/containers/"+list[0].ID+"/json", nil, &found); err != nil {
		return nil, err
	}
	delete(found.Config, "Hostname") // which is the id
	found.Config["HostConfig"] = found.HostConfig
	return found.Config, nil
}
