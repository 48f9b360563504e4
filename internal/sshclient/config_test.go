package sshclient

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// home makes a home directory with a configuration and what it includes.
func home(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, ".ssh", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// table are configurations that both readers have to understand in the same way.
const table = `Include conf.d/*.conf
Host gpu* !gpu9
  HostName 10.0.0.1
  User ml
  Port 2200
  ProxyJump bastion,me@second:2222
  IdentityFile ~/.ssh/gpu_%h
  IdentityFile "~/.ssh/with space"
  CertificateFile ~/.ssh/gpu-cert.pub
  IdentitiesOnly yes
  HostKeyAlias gpu
  ConnectTimeout 7
  ServerAliveInterval 20
  ServerAliveCountMax 5
  StrictHostKeyChecking accept-new
  UserKnownHostsFile ~/.ssh/known_gpu
  IdentityAgent none
Host plain
  HostName=%h.example
Host proxied
  ProxyCommand nc -x proxy %h %p
  IdentityAgent ~/agent.sock
Host jumpless
  ProxyJump none
  ProxyCommand none
Host *
  User everybody
`

func TestResolve(t *testing.T) {
	dir := home(t, map[string]string{
		"config": table, "conf.d/a.conf": "Host included\n  Port 77\n  Include more\n", "more": "Host included\n  User inner\n",
	})
	for _, name := range []string{"gpu1", "gpu9", "plain", "proxied", "jumpless", "included", "unknown.example"} {
		t.Run(name, func(t *testing.T) {
			o := Options{Host: name, Env: map[string]string{"HOME": dir, "USER": "caller", "SSH_AUTH_SOCK": "/run/agent"}}
			ours, err := Resolve(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if ours.Source != "~/.ssh/config" {
				t.Errorf("without a PATH it is read by %s", ours.Source)
			}
			check(t, name, dir, ours)
			o.Env["PATH"] = filepath.Dir(testenv.Require(t, "ssh")) // what there is to compare with
			theirs, err := Resolve(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if theirs.Source != "ssh -G" {
				t.Errorf("with ssh on the PATH it is read by %s", theirs.Source)
			}
			ours.Source, ours.Identities = theirs.Source, sameDefaults(ours.Identities, theirs.Identities)
			if ours.AliveCount == 0 {
				ours.AliveCount = 3 // OpenSSH writes its default
			}
			if ours.Checking == "" {
				ours.Checking = "ask"
			}
			if !reflect.DeepEqual(ours, theirs) {
				t.Errorf("the readers differ:\n%+v\n%+v", *ours, *theirs)
			}
		})
	}
}

// sameDefaults are theirs where both name nothing but default keys: versions of OpenSSH differ in those.
func sameDefaults(ours, theirs []string) []string {
	for _, list := range [][]string{ours, theirs} {
		for _, name := range list {
			if !strings.HasPrefix(filepath.Base(name), "id_") {
				return ours
			}
		}
	}
	return theirs
}

// check looks at what is easy to get wrong.
func check(t *testing.T, name, dir string, h *Host) {
	t.Helper()
	want := map[string]string{
		"gpu1": fmt.Sprintf("ml@10.0.0.1:2200 [bastion me@second:2222]  [%s %s] %v %s gpu", dir+"/.ssh/gpu_10.0.0.1", dir+"/.ssh/with space", 7*time.Second, dir+"/.ssh/known_gpu"),
		"gpu9": "everybody@gpu9 []", "plain": "everybody@plain.example []", "proxied": "everybody@proxied [] nc -x proxy %h %p",
		"jumpless": "everybody@jumpless [] ", "included": "inner@included:77 []", "unknown.example": "everybody@unknown.example []",
	}[name]
	got := fmt.Sprintf("%s %v %s %v %v %s %s", h, h.Jumps, h.Command, h.Identities, h.ConnectTimeout, h.KnownHosts[0], h.KeyAlias)
	if !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s…", got, want)
	}
	agent := map[string]string{"gpu1": "", "proxied": dir + "/agent.sock"}
	wantAgent, special := agent[name]
	if !special {
		wantAgent = "/run/agent"
	}
	if h.Agent != wantAgent {
		t.Errorf("agent %q, want %q", h.Agent, wantAgent)
	}
}

func TestResolveStrongerThanTheConfiguration(t *testing.T) {
	dir := home(t, map[string]string{"config": table})
	h, err := Resolve(t.Context(), Options{Host: "gpu1", User: "root", Port: 22, Env: map[string]string{"HOME": dir}})
	if err != nil {
		t.Fatal(err)
	}
	if h.String() != "root@10.0.0.1" {
		t.Errorf("got %s", h)
	}
}

func TestResolveRefuses(t *testing.T) {
	for name, test := range map[string]struct{ host, config, want string }{
		"an option":           {"-oProxyCommand=evil", "", `"-oProxyCommand=evil" is no name of a host`},
		"nothing":             {"", "", `"" is no name of a host`},
		"a bad port":          {"h", "Host h\n  Port many\n", `port "many" of its configuration is no number`},
		"what only ssh knows": {"h", "Match exec true\n  Port 3\n", "with OpenSSH installed it is read by that"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := home(t, map[string]string{"config": test.config})
			_, err := Resolve(t.Context(), Options{Host: test.host, Env: map[string]string{"HOME": dir}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestMatch: what only OpenSSH knows is read by it.
func TestMatch(t *testing.T) {
	path := testenv.Require(t, "ssh")
	dir := home(t, map[string]string{"config": "Match host h exec true\n  Port 3\n"})
	h, err := Resolve(t.Context(), Options{Host: "h", User: "u", Env: map[string]string{"HOME": dir, "PATH": filepath.Dir(path)}})
	if err != nil || h.String() != "u@h:3" {
		t.Errorf("got %v, %v", h, err)
	}
}

func TestSplitJump(t *testing.T) {
	for text, want := range map[string]string{
		"h": " h 0", "me@h": "me h 0", "h:22": " h 22", "me@[::1]:2222": "me ::1 2222", "[::1]": " ::1 0", "ssh://u@h:2": "u h 2", "a@b@h": "a@b h 0",
	} {
		user, host, port, err := splitJump(text)
		if got := fmt.Sprintf("%s %s %d", user, host, port); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	if _, _, _, err := splitJump("h:many"); err == nil {
		t.Error("a port that is no number is taken")
	}
}
