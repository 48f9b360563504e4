package config

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/hermes-exec/hermes-exec/internal/volume"
)

func dockerKeys() []key {
	return []key{
		scalar(key{
			name: "terminal.docker_image", flag: "image", want: "image", example: "ghcr.io/me/lab:2",
			help: "what containers are made from",
		}, imageName, text, func(s *Settings) *string { return &s.Docker.Image }),
		scalar(key{
			flag: "container", want: "name or id", example: "web-1",
			help: "a running container to enter; it is never removed",
		}, plain, text, func(s *Settings) *string { return &s.Docker.Container }),
		volumesKey(),
		scalar(key{
			name: "terminal.docker_mount_cwd_to_workspace", flag: "mount-cwd", want: "`true` or `false`", example: "true",
			help: "mounts the caller's directory at /workspace",
		}, boolean, strconv.FormatBool, func(s *Settings) *bool { return &s.Docker.MountCwd }),
		table(key{
			name: "terminal.docker_env", want: "mapping", example: "{MODE: fast}",
			help: "variables that containers get; listings show the names",
		}, func(s *Settings) *map[string]string { return &s.Docker.Env }),
		variables(key{
			name: "terminal.docker_forward_env", want: "list of names", example: "[HTTP_PROXY]", command: true,
			help: "variables of this machine that containers get",
		}, func(s *Settings) *[]string { return &s.Docker.ForwardEnv }),
		scalar(key{
			name: "terminal.docker_network", flag: "network", want: "`none`, `bridge` or a name", example: "bridge",
			help: "the network of containers",
		}, network, text, func(s *Settings) *string { return &s.Docker.Network }),
		scalar(key{
			name: "terminal.docker_user", flag: "user", want: "`USER[:GROUP]`", example: "1000:1000",
			help: "who scripts run as; without it the image's user",
		}, plain, text, func(s *Settings) *string { return &s.Docker.User }),
		scalar(key{
			name: "terminal.docker_runtime", want: "name", example: "runsc",
			help: "the engine's runtime",
		}, plain, text, func(s *Settings) *string { return &s.Docker.Runtime }),
		scalar(key{
			name: "terminal.container_cpu", flag: "cpus", want: "CPUs", example: "1.5",
			help: "processors of a container",
		}, cpus, number, func(s *Settings) *float64 { return &s.Docker.CPUs }),
		memoryKey(),
		scalar(key{
			name: "terminal.container_pids", want: "count", example: "1024",
			help: "processes in a container",
		}, size(1, 1, 1<<22), byteCount, func(s *Settings) *int64 { return &s.Docker.PidsLimit }),
	}
}

// volumesKey is what is mounted.
func volumesKey() key {
	k := list(key{
		name: "terminal.docker_volumes", flag: "volume", want: "list of `HOST:CONTAINER[:ro]`", example: "[\"/data:/data:ro\"]",
		help: "mounts; the flag is repeated and replaces the file's list",
	}, "", func(s *Settings) *[]string { return &s.Docker.Volumes })
	return checked(k, func(s *Settings) error {
		_, err := volume.ParseAll(s.Docker.Volumes)
		return err
	})
}

// minMemory is the least that Docker gives a container.
const minMemory = 6 << 20

// memoryKey counts megabytes in the file, as Hermes Agent does, and bytes at the flag, as Docker does.
func memoryKey() key {
	field := func(s *Settings) *int64 { return &s.Docker.Memory }
	k := scalar(key{
		name: "terminal.container_memory", flag: "memory", want: "MB in the file, bytes at the flag; `512m`, `2g` in both", example: "4096",
		help: "memory of a container",
	}, size(1, minMemory, maxSpill), megabytes, field)
	flag := k.apply
	file := scalar(k, size(1<<20, minMemory, maxSpill), megabytes, field).apply
	k.apply = func(s *Settings, v value) error {
		if v.node == nil {
			return flag(s, v)
		}
		return file(s, v)
	}
	return k
}

// imageName reads what an image is called. The engine knows what can be a name.
func imageName(text string) (string, error) {
	if text == "" {
		return "", errors.New("want the name of an image")
	}
	return plain(text)
}

// network reads a network's name. A switch, which older configurations have, means bridge or none.
func network(text string) (string, error) {
	if on, err := boolean(text); err == nil {
		if on {
			return "bridge", nil
		}
		return "none", nil
	}
	if text == "" {
		return "", errors.New("want none, bridge or the name of a network")
	}
	return text, nil
}

func sshKeys() []key {
	return []key{
		scalar(key{
			name: "terminal.ssh_host", flag: "host", env: []string{"TERMINAL_SSH_HOST"}, want: "`[USER@]HOST[:PORT]`", example: "me@build1",
			help: "the remote host, or a name from ~/.ssh/config",
		}, sshHost, text, func(s *Settings) *string { return &s.SSH.Host }),
		scalar(key{
			name: "terminal.ssh_user", env: []string{"TERMINAL_SSH_USER"}, want: "name", example: "me",
			help: "the remote user, unless the host names one",
		}, plain, text, func(s *Settings) *string { return &s.SSH.User }),
		scalar(key{
			name: "terminal.ssh_port", env: []string{"TERMINAL_SSH_PORT"}, want: "port", example: "2222",
			help: "the remote port, unless the host names one; without it what ~/.ssh/config says",
		}, whole(65535), portText, func(s *Settings) *int { return &s.SSH.Port }),
		hostPath(key{
			name: "terminal.ssh_key", env: []string{"TERMINAL_SSH_KEY"}, want: "path", example: "~/.ssh/id_ed25519",
			help: "the private key that is offered first",
		}, func(s *Settings) *string { return &s.SSH.Key }),
		table(key{
			name: "terminal.ssh_env", want: "mapping", example: "{MODE: fast}",
			help: "variables that remote scripts get; listings show the names",
		}, func(s *Settings) *map[string]string { return &s.SSH.Env }),
		scalar(key{
			name: "terminal.ssh_host_key_checking", want: "`yes` or `accept-new`", example: "accept-new",
			help: "whether a host that is not known may be",
		}, hostKeyChecking, text, func(s *Settings) *string { return &s.SSH.HostKeyChecking }),
		scalar(key{
			name: "terminal.ssh_spool", want: "`agent` or `sftp`", example: "sftp",
			help: "how the spool of transport `file` is mirrored",
		}, oneOf("agent", "sftp"), text, func(s *Settings) *string { return &s.SSH.Spool }),
	}
}

// portText shows a port.
func portText(port int) string {
	if port == 0 {
		return ""
	}
	return strconv.Itoa(port)
}

// hostKeyChecking reads what OpenSSH has; YAML turns its yes into true.
func hostKeyChecking(text string) (string, error) {
	if on, err := boolean(text); err == nil && on {
		return "yes", nil
	}
	return oneOf("yes", "accept-new")(text)
}

// sshHost checks the form of a host.
func sshHost(text string) (string, error) {
	_, _, _, err := splitHost(text)
	return text, err
}

// splitHost takes [USER@]HOST[:PORT] apart, or an ssh:// URL of it, as ssh does. An IPv6 address with a port
// stands in brackets.
func splitHost(text string) (user, host string, port int, err error) {
	host, isURL := strings.CutPrefix(text, "ssh://")
	if isURL {
		var dir string
		if host, dir, _ = strings.Cut(host, "/"); dir != "" {
			return "", "", 0, fmt.Errorf("%q has a directory, which is for --cwd", text)
		}
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user, host = host[:i], host[i+1:]
		if user == "" {
			return "", "", 0, fmt.Errorf("%q has an empty user", text)
		}
	}
	if name, digits, splitErr := net.SplitHostPort(host); splitErr == nil {
		if port, err = whole(65535)(digits); err != nil {
			return "", "", 0, fmt.Errorf("port of %q: %w", text, err)
		}
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if text != "" && host == "" || strings.HasPrefix(host, "-") || strings.ContainsAny(host, " \t\n\x00") {
		return "", "", 0, fmt.Errorf("%q is not a host", text)
	}
	return user, host, port, nil
}
