package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// TestMain makes the test binary the command itself when it is called by that name: scripts and
// tests find it on PATH.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hermes-exec": main})
}

// TestScript runs testdata/script. Besides testscript's own commands the scripts have
//
//	exits STATUS PROGRAM ARGS...   run a program and compare its exit status
//	[!] field KEY [WANT]           a key of the JSON object on stdout, a.b for an inner one; with !
//	                               it is not there
//	clean                          no file and no process of the script's runs is left
//	bytes FILE TEXT [COUNT]        write a file from a quoted Go string, repeated
//	timeless FILE                  write stdout to a file, with times as 0
//	events TYPE...                 the types of the JSON lines on stdout, neighbours of one type once
//
// UPDATE=1 rewrites golden files.
func TestScript(t *testing.T) {
	python := testenv.Python(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("HERMES_HOME", filepath.Join(home, ".hermes"))
			e.Setenv("PYTHON", python)
			e.Setenv("PATH", filepath.Dir(python)+string(os.PathListSeparator)+e.Getenv("PATH"))
			return os.MkdirAll(home, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "field": field, "clean": clean, "bytes": writeBytes, "events": eventTypes,
			"timeless": timeless,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

func field(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || len(args) > 2 || neg && len(args) > 1 {
		ts.Fatalf("usage: [!] field KEY [WANT]")
	}
	value, ok := lookUp(ts, args[0])
	switch {
	case neg && ok:
		ts.Fatalf("%s is there: %s", args[0], value)
	case !neg && !ok:
		ts.Fatalf("%s is not there", args[0])
	case len(args) == 2 && value != args[1]:
		ts.Fatalf("%s is %s, want %s", args[0], value, args[1])
	}
}

// lookUp returns a value of the JSON object on stdout as text: a string as it is, anything else as
// compact JSON.
func lookUp(ts *testscript.TestScript, key string) (string, bool) {
	data := json.RawMessage(ts.ReadFile("stdout"))
	for name := range strings.SplitSeq(key, ".") {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(data, &object); err != nil {
			ts.Fatalf("%s: %v", data, err)
		}
		var ok bool
		if data, ok = object[name]; !ok {
			return "", false
		}
	}
	var text string
	if json.Unmarshal(data, &text) == nil && string(data) != "null" {
		return text, true
	}
	var compact bytes.Buffer
	ts.Check(json.Compact(&compact, data))
	return compact.String(), true
}

func eventTypes(ts *testscript.TestScript, _ bool, want []string) {
	var got []string
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var event struct {
			Type string   `json:"type"`
			Time *float64 `json:"time"`
		}
		ts.Check(json.Unmarshal([]byte(line), &event))
		if event.Time == nil {
			ts.Fatalf("no time in %s", line)
		}
		if len(got) == 0 || got[len(got)-1] != event.Type {
			got = append(got, event.Type)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		ts.Fatalf("events %v, want %v", got, want)
	}
}

func timeless(ts *testscript.TestScript, _ bool, args []string) {
	times := regexp.MustCompile(`("(?:time|duration_seconds)":)[0-9.e-]+`)
	text := times.ReplaceAllString(ts.ReadFile("stdout"), "${1}0")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	count := 1
	if len(args) > 2 {
		count, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte(text), count), 0o600))
}

// clean fails if anything of the runs of a script is left. Its temporary directory is in the
// environment of all their processes.
func clean(ts *testscript.TestScript, _ bool, _ []string) {
	temp := ts.Getenv("TMPDIR")
	left, err := os.ReadDir(temp)
	ts.Check(err)
	for _, entry := range left {
		ts.Fatalf("left behind: %s", filepath.Join(temp, entry.Name()))
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		processes := testenv.Processes("TMPDIR=" + temp)
		if len(processes) == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("still running: %v", processes)
		}
		<-time.After(10 * time.Millisecond)
	}
}
