package threads

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestGrow(t *testing.T) {
	const many = 40 // more than a test's program has by itself
	grow(many)
	if tasks, err := os.ReadDir("/proc/self/task"); err != nil || len(tasks) < many {
		t.Errorf("%d threads, %v; want %d", len(tasks), err, many)
	}
}

func TestRoomOfUser(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &old); err != nil {
		t.Fatal(err)
	}
	set := func(most uint64) {
		if err := syscall.Setrlimit(unix.RLIMIT_NPROC, &syscall.Rlimit{Cur: min(most, old.Max), Max: old.Max}); err != nil {
			t.Fatal(err)
		}
	}
	defer set(old.Cur)
	set(counted)
	grow(20)
	if room := roomOfUser(); room > counted-20 {
		t.Errorf("room for %d below a limit of %d, of which this program has 20", room, counted)
	}
	if set(counted + 1); old.Max > counted && roomOfUser() != unlimited {
		t.Error("a high limit counts")
	}
}

func TestRoomOfGroups(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, text := range map[string]string{
		"user/pids.max": "100\n", "user/pids.current": "60\n", // 40
		"user/app/pids.max": "max\n", "user/app/pids.current": "10\n",
		"tight/pids.max": "7\n", "tight/pids.current": "9\n", // −2: it was lowered
		"free/pids.max": "max\n", "free/pids.current": "9\n",
		"pids/old/pids.max": "12\n", "pids/old/pids.current": "2\n", // 10
		"pids.max": "1000\n", "pids.current": "900\n", // 100
	} {
		write(name, text)
	}
	for list, want := range map[string]int{
		"0::/user/app\n":                   40,
		"0::/tight\n":                      -2,
		"0::/free\n":                       100,
		"0::/../../user\n":                 40,
		"9:cpu:/user\n8:pids:/old\n0::/\n": 10,
		"9:cpu:/user\n8:pids:/none\n":      unlimited,
		"nonsense\n":                       unlimited,
		"":                                 unlimited,
	} {
		if room := roomOfGroups(root, write("list", list)); room != want {
			t.Errorf("%q: room for %d, want %d", list, room, want)
		}
	}
	if room := roomOfGroups(root, filepath.Join(root, "missing")); room != unlimited {
		t.Errorf("without a list: room for %d", room)
	}
}
