//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/owner"
)

// prune calls `hermes-exec prune` for the host, and returns what was seen there by its name.
func (v *visitor) prune(t *testing.T, flags ...string) map[string]backend.Pruned {
	t.Helper()
	cmd := v.command(t, append([]string{"prune", "--host", "box", "--output", "json"}, flags...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("prune: %v: %s", err, out)
	}
	var all []backend.Pruned
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen := map[string]backend.Pruned{}
	for _, p := range all {
		if path, there := strings.CutPrefix(p.Path, "box:"+v.Tmp()+"/"); there {
			seen[path] = p
		}
	}
	return seen
}

// scratches are the directories of agents there.
func (v *visitor) scratches(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(v.Tmp())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// killTree kills a process and all below it at once, so that none of them learns of the end of another.
func killTree(t *testing.T, root int) {
	t.Helper()
	tree := []int{root}
	for i := 0; i < len(tree); i++ {
		_ = syscall.Kill(tree[i], syscall.SIGSTOP)
		tree = append(tree, children(t, tree[i])...)
	}
	for _, pid := range tree {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func children(t *testing.T, parent int) []int {
	t.Helper()
	out, err := exec.Command(program(t, "ps"), "-e", "-o", "pid=,ppid=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if pid, err := strconv.Atoi(fields[0]); err == nil && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// What agents leave that were killed together with all who watched them is removed from the host, whatever a
// script has made of it, and what a living session uses is not.
func TestSSHPrune(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	v.run(t, "x = 42", "--session", "living").must(t, "")
	living := v.scratches(t)
	c := v.start(t, `
import os, tempfile, time
closed = os.path.dirname(os.environ["HERMES_RPC_SOCKET"]) + "/closed"
os.makedirs(closed + "/deeper")
os.chmod(closed, 0)
print("begun\nmore", flush=True)
time.sleep(600)
`)
	c.until(t, "begun\nmore\n")
	dead := slices.DeleteFunc(v.scratches(t), func(name string) bool { return slices.Contains(living, name) })
	for _, name := range dead {
		if m, err := owner.Read(filepath.Join(v.Tmp(), name)); err == nil {
			killTree(t, m.PID)
		}
	}
	lostScript(t, c.wait(t))
	if left := v.scratches(t); len(dead) == 0 || len(left) != len(living)+len(dead) {
		t.Fatalf("there is %q, of which %q are the living ones'", left, living)
	}
	unmarked := filepath.Join(v.Tmp(), "hermes_sandbox_unmarked")
	old := time.Now().Add(-25 * time.Hour)
	if err := os.Mkdir(unmarked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(unmarked, old, old); err != nil {
		t.Fatal(err)
	}
	seen := v.prune(t)
	for _, name := range dead {
		if p := seen[name]; !p.Removed || !strings.Contains(p.Reason, "has ended") {
			t.Errorf("dead: %+v", p)
		}
	}
	for _, name := range living {
		if p := seen[name]; p.Removed || !strings.Contains(p.Reason, "lives and uses it") {
			t.Errorf("living: %+v", p)
		}
	}
	if p := seen["hermes_sandbox_unmarked"]; p.Removed || !strings.Contains(p.Reason, "whose it is") {
		t.Errorf("unmarked: %+v", p)
	}
	if p := v.prune(t, "--all")["hermes_sandbox_unmarked"]; !p.Removed {
		t.Errorf("unmarked: %+v", p)
	}
	if got := v.scratches(t); !slices.Equal(got, living) {
		t.Errorf("there is %q, want %q", got, living)
	}
	v.run(t, "print(x)", "--session", "living").must(t, "42\n")
}

// A host that cannot be looked at is told.
func TestSSHPruneRefused(t *testing.T) {
	t.Parallel()
	v := newVisitor(t, `ForceCommand PATH=/nowhere; eval "$SSH_ORIGINAL_COMMAND"`)
	for host, want := range map[string]string{"box": "no usable Python", "127.0.0.1:1": "refused"} {
		out, err := v.command(t, "prune", "--host", host).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %s", host, err, out)
		}
	}
}
