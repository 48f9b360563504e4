//go:build unix

package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/owner"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// dead is the mark of a process of this machine that has ended.
func dead(t *testing.T) owner.Mark {
	t.Helper()
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	m := owner.Self()
	m.PID = child.Process.Pid
	return m
}

// pruned is what `hermes-exec prune` says of a container.
func (u *user) pruned(t *testing.T, id string) backend.Pruned {
	t.Helper()
	name := strings.TrimPrefix(u.Docker(t, "inspect", "--format", "{{.Name}}", id), "/")
	var seen []backend.Pruned
	if out := u.output(t, "prune", "--output", "json"); json.Unmarshal(out, &seen) != nil {
		t.Fatalf("prune says %q", out)
	}
	i := slices.IndexFunc(seen, func(p backend.Pruned) bool { return p.Path == "container "+name })
	if i < 0 {
		t.Fatalf("it does not tell of %s: %+v", name, seen)
	}
	return seen[i]
}

// output is what a call of the command prints that succeeds and has nothing to complain of.
func (u *user) output(t *testing.T, args ...string) []byte {
	t.Helper()
	var stderr strings.Builder
	cmd := u.command(t, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%q: %v: %s", args, err, stderr.String())
	}
	return out
}

// Containers go whose owner is dead beyond doubt, those that never started included. All others stay.
func TestDockerPrune(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	mark := func(change func(*owner.Mark)) string {
		m := dead(t)
		change(&m)
		return m.String()
	}
	gone := mark(func(*owner.Mark) {})
	for _, c := range []struct {
		name, label string
		removed     bool
		reason      string
	}{
		{"dead", gone, true, "has ended"},
		{"dead since before the boot", mark(func(m *owner.Mark) { m.Boot = "another" }), true, "has ended"},
		{"alive", owner.Self().String(), false, "lives and uses it"},
		{"on another machine", mark(func(m *owner.Mark) { m.Node = "elsewhere" }), false, "of another machine, elsewhere, cannot be told"},
		{"in another pid namespace", mark(func(m *owner.Mark) { m.Space = "pid:[1]" }), false, "of another pid namespace cannot be told"},
		{"no mark", "me", false, "does not say whose"},
		{"empty", "", false, "does not say whose"},
	} {
		for _, state := range []string{"running", "created"} {
			t.Run(c.name+" "+state, func(t *testing.T) {
				t.Parallel()
				id := u.Docker(t, "create", "--label", "hermes-exec.owner="+c.label, "--entrypoint", "sleep", u.image, "infinity")
				t.Cleanup(func() { u.remove(t, id) })
				if state == "running" {
					// The prune of another test may have been faster with what is to be removed.
					if _, err := u.Try("start", id); err != nil && !c.removed {
						t.Fatal(err)
					}
				}
				if c.removed {
					u.output(t, "prune")
					if list := u.containers(t); slices.Contains(list, id) {
						t.Error("it is still there")
					}
					return
				}
				if p := u.pruned(t, id); p.Removed || !strings.Contains(p.Reason, c.reason) {
					t.Errorf("%+v", p)
				}
				if list := u.containers(t); !slices.Contains(list, id) {
					t.Error("it is gone")
				}
			})
		}
	}
}

// remove removes a container that may be gone.
func (u *user) remove(t *testing.T, id string) {
	t.Helper()
	if slices.Contains(u.containers(t), id) {
		u.Docker(t, "rm", "--force", id)
	}
}

// A container that has the label from its image is somebody's whom nothing is known of.
func TestDockerPruneInheritedLabel(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	marked := strings.Replace(u.image, ":user-", ":marked-", 1)
	made := u.Docker(t, "create", "--label", "hermes-exec.owner="+dead(t).String(), u.image)
	u.Docker(t, "commit", made, marked)
	u.Docker(t, "rm", "--force", made)
	t.Cleanup(func() { u.Docker(t, "rmi", marked) })
	id := u.Container(t, marked)
	if p := u.pruned(t, id); p.Removed || !strings.Contains(p.Reason, "its image says") {
		t.Errorf("%+v", p)
	}
	if running := u.Docker(t, "inspect", "--format", "{{.State.Running}}", id); running != "true" {
		t.Errorf("it runs: %s", running)
	}
}

// The container of a run that lives stays, whoever prunes.
func TestDockerPruneSparesTheLiving(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	c := u.start(t, "import sys, time\nprint('begun', flush=True)\ntime.sleep(600)")
	c.until(t, "begun")
	if p := u.pruned(t, u.container(t)); p.Removed {
		t.Errorf("%+v", p)
	}
	_ = c.cmd.Process.Signal(syscall.SIGINT)
	c.wait(t).failed(t, 130, "interrupted")
}

// A session server removes what dead ones have left when it starts.
func TestDockerServerSweeps(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	id := u.Docker(t, "create", "--label", "hermes-exec.owner="+dead(t).String(), u.image)
	t.Cleanup(func() { u.remove(t, id) })
	u.run(t, "x = 1", "--session", "s").must(t, "")
	testenv.Eventually(t, "the container is swept", func() bool { return !slices.Contains(u.containers(t), id) })
}

// An engine that the environment names is missed when it is not there; any other need not be there.
func TestDockerPruneWithoutEngine(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	none := "unix://" + u.dir + "/none.sock"
	for name, c := range map[string]struct {
		vars []string
		want string // of stderr
	}{
		"named":    {[]string{"DOCKER_HOST=" + none}, "hermes-exec: warning: docker: prune: environment unavailable: cannot connect to the engine at " + none},
		"as usual": {[]string{"DOCKER_HOST=", "DOCKER_CONTEXT=", "DOCKER_CONFIG=" + usual(t, none)}, ""},
	} {
		cmd := u.command(t, "prune")
		cmd.Env = append(cmd.Env, c.vars...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil || !strings.HasPrefix(stderr.String(), c.want) || (stderr.Len() > 0) != (c.want != "") {
			t.Errorf("%s: %v, stderr %q, want %q", name, err, stderr.String(), c.want)
		}
	}
}

// usual is a configuration of the docker command whose current context leads to that engine.
func usual(t *testing.T, host string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	meta := filepath.Join(dir, "contexts/meta", fmt.Sprintf("%x", sha256.Sum256([]byte("usual"))))
	if err := os.MkdirAll(meta, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		dir + "/config.json": `{"currentContext": "usual"}`,
		meta + "/meta.json":  `{"Name": "usual", "Endpoints": {"docker": {"Host": "` + host + `"}}}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
