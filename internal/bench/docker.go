package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/hermes-exec/hermes-exec/backend/docker"
	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// image is what all containers are made from: `make image` makes it.
const image = "hermes-exec/python:3"

// benchDir is where containers see the group's directory.
const benchDir = "/bench"

// dockerRows measures runs in containers that are made for them, and what is done in one that is there.
func dockerRows(ctx context.Context, s setup) ([]row, error) {
	e, err := findEngine(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("DOCKER_HOST", e.host()); err != nil {
		return nil, err
	}
	spec, err := s.specOfProduct(ctx, e)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, measure := range []func(context.Context, engine, map[string]any) ([]row, error){s.containerRows, s.dockerFloodRows, s.insideRows} {
		more, err := measure(ctx, e, spec)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// dockerConfig is a container as the settings make it by default.
func (s setup) dockerConfig(e engine) docker.Config {
	d := config.Defaults().Docker
	return docker.Config{
		Image: image, Memory: d.Memory, CPUs: d.CPUs, Pids: d.PidsLimit,
		Env: map[string]string{"DOCKER_HOST": e.host(), "HOME": s.temp, "TMPDIR": s.temp},
	}
}

// specOfProduct is the request for a container like the product's own, with the group's directory in the
// place of the one where it meets the host.
func (s setup) specOfProduct(ctx context.Context, e engine) (map[string]any, error) {
	b, err := docker.Open(ctx, s.dockerConfig(e))
	if err != nil {
		return nil, err
	}
	spec, err := e.inspect(ctx, "hermes-exec.owner="+owner.Self().String())
	if err := errors.Join(err, b.Close()); err != nil {
		return nil, err
	}
	spec["Labels"] = nil // no part of it is the product's
	host, ok := spec["HostConfig"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a container without a HostConfig: %v", spec)
	}
	host["Mounts"] = []any{map[string]any{"Type": "bind", "Source": s.temp, "Target": benchDir}}
	return spec, nil
}

// running is a container like spec that runs a command.
func running(spec map[string]any, argv ...string) map[string]any {
	spec = maps.Clone(spec)
	spec["Entrypoint"] = argv
	return spec
}

// soft is a container like spec with no limit and every right that an engine gives by default.
func soft(spec map[string]any) map[string]any {
	spec = maps.Clone(spec)
	host, _ := spec["HostConfig"].(map[string]any)
	host = maps.Clone(host)
	for _, hardening := range []string{"CapDrop", "SecurityOpt", "Memory", "MemorySwap", "NanoCpus", "PidsLimit", "Tmpfs"} {
		delete(host, hardening)
	}
	spec["HostConfig"] = host
	return spec
}

// floorContainer is the command line of this program as the bare sequence for a container.
func (s setup) floorContainer(e engine, name string, spec map[string]any) ([]string, error) {
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.temp, name+".json")
	return floorArgs("container", e.socket, path), os.WriteFile(path, data, 0o600)
}

// beContainer runs the container that a file describes.
func beContainer(ctx context.Context, socket, file string, out io.Writer) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var spec map[string]any
	if err := json.Unmarshal(data, &spec); err != nil {
		return err
	}
	return engine{socket}.run(ctx, spec, out)
}

// dockerRun is the docker program's way to make a container like the product's.
func (s setup) dockerRun() []string {
	d := config.Defaults().Docker
	return []string{
		"docker", "run", "--rm", "--interactive", "--init", "--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--memory", strconv.FormatInt(d.Memory, 10), "--cpus", fmt.Sprint(d.CPUs), "--pids-limit", strconv.FormatInt(d.PidsLimit, 10),
		"--log-driver", "none", "--no-healthcheck", "--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777", "--volume", s.temp + ":" + benchDir,
	}
}

// containerRows measures a whole run that does nothing, from the start of a process to the end of the
// container.
func (s setup) containerRows(ctx context.Context, e engine, spec map[string]any) ([]row, error) {
	print1, err := s.script("print.py")
	if err != nil {
		return nil, err
	}
	bare, err := s.floorContainer(e, "bare", running(spec, "python3", "-c", "print(1)"))
	if err != nil {
		return nil, err
	}
	weak, err := s.floorContainer(e, "soft", running(soft(spec), "python3", "-c", "print(1)"))
	if err != nil {
		return nil, err
	}
	// One of each at a time: they are long, and others on the machine slow them down.
	times, err := inTurns(
		20,
		timed(ctx, 1, s.product, "run", "--output", "json", "--backend", "docker", "--image", image, print1),
		timed(ctx, 1, bare...),
		timed(ctx, 1, slices.Concat(s.dockerRun(), []string{image, "python3", "-c", "print(1)"})...),
		timed(ctx, 1, weak...),
	)
	if err != nil {
		return nil, err
	}
	product, floor, command, without := ms(times[0]), ms(times[1]), ms(times[2]), ms(times[3])
	return []row{
		newRow("docker one-shot print(1)", "ms", product, floor, ratioAtMost(1.1)),
		newRow("docker one-shot print(1) against docker run", "ms", product, command, ratioAtMost(1)),
		newRow("docker bare sequence, hardened against not", "ms", floor, without, ratioAtMost(1.1)),
	}, nil
}

// dockerFloodRows measures how fast a script in a container can print.
func (s setup) dockerFloodRows(ctx context.Context, e engine, spec map[string]any) ([]row, error) {
	script, err := s.script("flood.py")
	if err != nil {
		return nil, err
	}
	inside := filepath.Join(benchDir, "rate")
	user := fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()) // who may write the rate
	spec = running(spec, "python3", filepath.Join(benchDir, "flood.py"), strconv.Itoa(floodMB), inside)
	spec["User"] = user
	floor, err := s.floorContainer(e, "flood", spec)
	if err != nil {
		return nil, err
	}
	return flood{
		name: "docker, " + strconv.Itoa(floodMB) + " MB of stdout", memory: "docker, its growth of memory", rate: filepath.Join(s.temp, "rate"),
		product: func(mb int) []string {
			return []string{
				s.product, "run", "--quiet", "--output", "json", "--backend", "docker", "--image", image, "--user", user,
				"--volume", s.temp + ":" + benchDir, script, "--", strconv.Itoa(mb), inside,
			}
		},
		floor: floor,
	}.rows(ctx)
}
