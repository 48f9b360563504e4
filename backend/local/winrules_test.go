package local

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
)

// files tells of the files of a Windows that is not there.
func files(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func TestWinAbs(t *testing.T) {
	for path, want := range map[string]bool{
		`C:\dir`: true, "c:/dir": true, `C:\`: true, `\\server\share`: true, "//server/share": true,
		"": false, "dir": false, `dir\file`: false, `\dir`: false, "/dir": false, "C:": false, "C:dir": false,
	} {
		if got := winAbs(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

func TestWinProgram(t *testing.T) {
	is := files(`C:\bin\tool.exe`, `C:\more bin\tool.exe`, `C:\more bin\other.com`, `C:\bin\script.bat`, `C:\bin\script.py`, `D:\work\tool.exe`,
		`D:\work\sub/tool.exe`, `C:\bin\plain`, `D:\work\plain.txt`)
	env := map[string]string{"PATH": `relative;"C:\bin\";C:\bin;C:\more bin;;.`}
	for _, tt := range []struct {
		name, want string
		err        error
	}{
		{"tool", `C:\bin\tool.exe`, nil},
		{"tool.exe", `C:\bin\tool.exe`, nil},
		{"other", `C:\more bin\other.com`, nil},
		{`C:\bin\tool`, `C:\bin\tool.exe`, nil},
		{`.\tool.exe`, `D:\work\.\tool.exe`, fs.ErrNotExist}, // the table of files knows one spelling
		{"sub/tool", `D:\work\sub/tool.exe`, nil},
		{"script", "", fs.ErrNotExist},
		{"script.bat", "", backend.ErrNotExecutable},
		{"plain", "", backend.ErrNotExecutable},
		{`D:\work\plain.txt`, "", backend.ErrNotExecutable},
		{"tool.txt", "", fs.ErrNotExist},
		{"missing", "", fs.ErrNotExist},
		{`C:\missing\tool`, "", fs.ErrNotExist},
		{"", "", fs.ErrNotExist},
	} {
		got, err := winProgram(tt.name, `D:\work`, env, is)
		if !errors.Is(err, tt.err) || tt.err == nil && got != tt.want {
			t.Errorf("%q: %q, %v; want %q, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
	for _, env := range []map[string]string{{"PATH": "."}, {"PATH": `work;\work`}, nil} {
		if got, err := winProgram("tool", `D:\work`, env, is); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: found in the working directory: %q, %v", env, got, err)
		}
	}
}

func TestWinCandidates(t *testing.T) {
	const stub = `C:\Users\u\AppData\Local\Microsoft\WindowsApps`
	path := `C:\Windows;` + stub + `;C:\Python;C:\venv\Scripts`
	is := files(`C:\Windows\py.exe`, stub+`\python.exe`, stub+`\python3.exe`, `C:\Python\python.exe`, `C:\venv\Scripts\python.exe`, `C:\mine\python.exe`,
		`C:\work\.venv\Scripts\python.exe`, `C:\Users\u\py/python.exe`)
	venv := map[string]string{"PATH": path, "VIRTUAL_ENV": `C:\venv\`, "HOME": `C:\Users\u`}
	both := map[string]string{"PATH": path, "VIRTUAL_ENV": `c:/VENV`, "CONDA_PREFIX": `C:\conda`}
	for name, tt := range map[string]struct {
		cfg  Config
		want []string
	}{
		"PATH":          {Config{Env: map[string]string{"PATH": path}}, []string{`C:\Windows\py.exe -3`, `C:\Python\python.exe`, `C:\venv\Scripts\python.exe`}},
		"VIRTUAL_ENV":   {Config{Env: venv}, []string{`C:\venv\Scripts\python.exe`, `C:\Windows\py.exe -3`, `C:\Python\python.exe`, `C:\venv\Scripts\python.exe`}},
		"strict":        {Config{Env: both, Strict: true}, []string{`C:\Windows\py.exe -3`, `C:\Python\python.exe`}},
		"conda":         {Config{Env: map[string]string{"CONDA_PREFIX": `C:\conda`}}, []string{`C:\conda\python.exe`}},
		"a path":        {Config{Env: venv, Python: `C:\mine\python.exe`}, []string{`C:\mine\python.exe`}},
		"no ending":     {Config{Env: venv, Python: `C:\mine\python`}, []string{`C:\mine\python.exe`}},
		"relative":      {Config{Env: venv, Dir: `C:\work`, Python: `.venv\Scripts\python.exe`}, []string{`C:\work\.venv\Scripts\python.exe`}},
		"in HOME":       {Config{Env: venv, Python: `~\py/python`}, []string{`C:\Users\u\py/python.exe`}},
		"a name":        {Config{Env: map[string]string{"PATH": `C:\Python`}, Python: "python"}, []string{`C:\Python\python.exe`}},
		"the launcher":  {Config{Env: venv, Python: "py"}, []string{`C:\Windows\py.exe -3`}},
		"missing":       {Config{Env: venv, Python: `C:\none\python.exe`}, nil},
		"nothing":       {Config{Env: map[string]string{"PATH": `C:\Windows\System32`}}, nil},
		"only the stub": {Config{Env: map[string]string{"PATH": stub}}, nil},
	} {
		got, err := winCandidates(tt.cfg, is)
		if tt.want == nil {
			if !errors.Is(err, backend.ErrNoPython) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			continue
		}
		var names []string
		for _, c := range got {
			names = append(names, c.String())
		}
		if err != nil || !slices.Equal(names, tt.want) {
			t.Errorf("%s: got %q, %v; want %q", name, names, err, tt.want)
		}
	}
}

func TestWinFate(t *testing.T) {
	bySignal := func(sig backend.Signal) *backend.ExitError { return &backend.ExitError{Code: -int(sig), Signal: sig} }
	for _, tt := range []struct {
		status uint32
		sent   backend.Signal
		want   *backend.ExitError
	}{
		{0, 0, nil},
		{0, backend.Terminate, nil},
		{1, backend.Terminate, &backend.ExitError{Code: 1}},
		{255, 0, &backend.ExitError{Code: 255}},
		{256, 0, nil},
		{257, 0, &backend.ExitError{Code: 1}},
		{0xFFFFFFFF, 0, &backend.ExitError{Code: 255}},
		{winKilled, 0, bySignal(backend.Kill)},
		{winKilled, backend.Terminate, bySignal(backend.Kill)},
		{winControlC, 0, bySignal(backend.Interrupt)},
		{winControlC, backend.Terminate, bySignal(backend.Terminate)},
		{winAccessViolation, 0, bySignal(11)},
		{winStackOverflow, 0, bySignal(11)},
		{winIllegal, 0, bySignal(4)},
		{winDivideByZero, 0, bySignal(8)},
		{0xC0000100, 0, bySignal(6)}, // its last byte is 0, and it is no success
		{0xC0000409, 0, bySignal(6)},
	} {
		err := winFate(tt.status, tt.sent)
		exit := (*backend.ExitError)(nil)
		if !errors.As(err, &exit) && err != nil || (exit == nil) != (tt.want == nil) || exit != nil && *exit != *tt.want {
			t.Errorf("%#x after signal %d: %v, want %v", tt.status, tt.sent, err, tt.want)
		}
	}
}

func TestInherited(t *testing.T) {
	env := map[string]string{"Path": "p", "userprofile": `C:\Users\u`, "TEMP": "t"}
	if got := inherited("linux", env); got["Path"] != "p" || got["HOME"] != "" {
		t.Errorf("linux: %v", got)
	}
	got := inherited("windows", env)
	if got["PATH"] != "p" || got["HOME"] != `C:\Users\u` || got["TEMP"] != "t" || env["HOME"] != "" {
		t.Errorf("windows: %v", got)
	}
	if got := inherited("windows", map[string]string{"HOME": "h", "USERPROFILE": "u"}); got["HOME"] != "h" {
		t.Errorf("HOME is %v", got)
	}
}

func TestShimEnv(t *testing.T) {
	env := map[string]string{
		"PATH": "", "LC_ALL": "", "PYENV_ROOT": "", "TEMP": "", "SYSTEMROOT": "", "PROGRAMFILES(X86)": "", "PY_PYTHON3": "",
		"PYTHONPATH": "", "PYTHONHOME": "", "SECRET": "", "VIRTUAL_ENV": "",
	}
	for goos, want := range map[string]int{"linux": 4, "darwin": 4, "windows": 7} {
		if got := shimEnv(goos, env); len(got) != want {
			t.Errorf("%s: %v", goos, got)
		}
	}
}
