package config_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/hermes-exec/hermes-exec/config"
)

func TestTarget(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *config.Settings)
		dir    string
		want   string
	}{
		"local": {func(*config.Settings) {}, "/srv/a b", "local:/srv/a%20b?mode=project"},
		"strict": {
			func(s *config.Settings) { s.Mode, s.StrictPython = config.Strict, "/opt/py/bin/python3" },
			"", "local:?mode=strict&python=%2Fopt%2Fpy%2Fbin%2Fpython3",
		},
		"docker": {
			func(s *config.Settings) { s.Backend = "docker" },
			"", "docker:python:3.13-slim?cpus=2&memory=2147483648&mode=project&network=none&pids=512",
		},
		"docker with all": {
			func(s *config.Settings) {
				s.Backend, s.Python = "docker", "/usr/bin/python3"
				s.Docker = config.Docker{
					Image: "ghcr.example/me/lab:2", Volumes: []string{"/a:/a", "b:/b:ro"}, MountCwd: true,
					Network: "bridge", User: "1:2", Runtime: "runsc", CPUs: 0.5, Memory: 6 << 20, PidsLimit: 9,
				}
			},
			"/work", "docker:ghcr.example/me/lab:2?cpus=0.5&dir=%2Fwork&memory=6291456&mode=project&mount_cwd=true&network=bridge&pids=9" +
				"&python=%2Fusr%2Fbin%2Fpython3&runtime=runsc&user=1%3A2&volume=%2Fa%3A%2Fa&volume=b%3A%2Fb%3Aro",
		},
		"ssh": {
			func(s *config.Settings) { s.Backend, s.SSH.Host = "ssh", "gpu1" },
			"", "ssh://gpu1?host_key_checking=yes&mode=project&spool=agent",
		},
		"ssh with all": {
			func(s *config.Settings) {
				s.Backend, s.Python = "ssh", "/opt/py/bin/python3"
				s.SSH = config.SSH{Host: "fe80::1", User: "me", Port: 2222, Key: "/home/me/k", HostKeyChecking: "accept-new", Spool: "sftp"}
			},
			"/srv/app", "ssh://me@[fe80::1]:2222?dir=%2Fsrv%2Fapp&host_key_checking=accept-new&key=%2Fhome%2Fme%2Fk&mode=project" +
				"&python=%2Fopt%2Fpy%2Fbin%2Fpython3&spool=sftp",
		},
		"container": {
			func(s *config.Settings) { s.Backend, s.Docker.Container, s.Docker.User = "docker", "web-1", "www" },
			"", "docker:?container=web-1&mode=project&user=www",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := config.Defaults()
			test.change(&s)
			if got := s.Target(test.dir).String(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestEnvironment (P215): what is forwarded is stronger than what is set for containers, and a flag is
// stronger than both. Elsewhere neither counts.
func TestEnvironment(t *testing.T) {
	s := config.Defaults()
	s.Docker.Env = map[string]string{"A": "set", "B": "set", "C": "set", "D": "set"}
	s.Docker.ForwardEnv = []string{"B", "C", "D"}
	s.SSH.Env = map[string]string{"S": "ssh"}
	s.EnvPassthrough = []string{"P"}
	s.EnvSet = map[string]string{"C": "flag"}
	environ := map[string]string{"B": "host", "C": "host"}
	for backend, want := range map[string]struct {
		pass []string
		set  map[string]string
	}{
		"local":  {[]string{"P"}, map[string]string{"C": "flag"}},
		"docker": {[]string{"B", "C", "D", "P"}, map[string]string{"A": "set", "C": "flag", "D": "set"}},
		"ssh":    {[]string{"P"}, map[string]string{"S": "ssh", "C": "flag"}},
	} {
		s.Backend = backend
		pass, set := s.Environment(environ)
		if !slices.Equal(pass, want.pass) || !maps.Equal(set, want.set) {
			t.Errorf("%s: got %v, %v, want %v, %v", backend, pass, set, want.pass, want.set)
		}
	}
}

func TestRelative(t *testing.T) {
	for name, test := range map[string]struct {
		docker config.Docker
		want   bool
	}{
		"nothing mounted":           {config.Docker{}, false},
		"a path":                    {config.Docker{Volumes: []string{"/a:/a"}}, false},
		"the home":                  {config.Docker{Volumes: []string{"~/a:/a"}}, false},
		"a volume":                  {config.Docker{Volumes: []string{"a:/a:ro"}}, false},
		"the directory":             {config.Docker{MountCwd: true}, true},
		"the directory by a volume": {config.Docker{Volumes: []string{"/a:/a", ".:/b"}}, true},
		"below it":                  {config.Docker{Volumes: []string{"a/b:/b"}}, true},
		"a container that is there": {config.Docker{Container: "x", MountCwd: true}, false},
	} {
		s := config.Settings{Backend: "docker", Docker: test.docker}
		if got := s.Relative(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		s.Backend = "local"
		if s.Relative() {
			t.Errorf("%s: here too", name)
		}
	}
}
