package testenv_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// ssh runs a command on the host by OpenSSH.
func ssh(t *testing.T, h *testenv.Host, command string) *exec.Cmd {
	t.Helper()
	// The program takes the home from the password file, whatever HOME says.
	known := "-oUserKnownHostsFile=" + h.Home + "/.ssh/known_hosts"
	return exec.Command(testenv.Require(t, "ssh"), "-F", h.Home+"/.ssh/config", "-i", h.Home+"/.ssh/id_ed25519", known, "-oBatchMode=yes", "box", command)
}

func TestSSHD(t *testing.T) {
	h := testenv.SSHD(t, "SetEnv A=b", "Subsystem none /nowhere")
	out, err := ssh(t, h, `echo "$A $HOME $TMPDIR"`).Output()
	if want := "b " + h.There + " " + h.Tmp() + "\n"; string(out) != want || err != nil {
		t.Fatalf("got %q, %v; want %q; log %s", out, err, want, h.Log(t))
	}
	if log := h.Log(t); !strings.Contains(log, "Accepted publickey") {
		t.Errorf("log %q", log)
	}
	h.Know(t)
	if out, err := ssh(t, h, "true").CombinedOutput(); err == nil || !strings.Contains(string(out), "Host key verification failed") {
		t.Errorf("a host that nobody knows: %q, %v", out, err)
	}
}

func TestSSHDIsKilled(t *testing.T) {
	h := testenv.SSHD(t)
	cmd := ssh(t, h, "exec sleep 600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running := func() []string { return testenv.Processes("HERMES_TEST_HOST=" + h.There) }
	testenv.Eventually(t, "the command runs", func() bool { return len(running()) == 1 })
	if n := h.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
	h.Kill()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 255 {
		t.Errorf("ssh ended with %v", err)
	}
	if err := ssh(t, h, "true").Run(); err == nil {
		t.Error("the daemon lives on")
	}
	h.Restart(t)
	if out, err := ssh(t, h, "echo again").Output(); string(out) != "again\n" {
		t.Errorf("got %q, %v", out, err)
	}
	// What was started does not see that its connection has ended, and is this test's to end.
	for _, p := range running() {
		pid, _, _ := strings.Cut(p, " ")
		if out, err := exec.Command("kill", pid).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
