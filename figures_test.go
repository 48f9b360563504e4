//go:build unix

package hermes_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	hermes "github.com/hermes-exec/hermes-exec"
	"github.com/hermes-exec/hermes-exec/internal/testenv"
)

// withFakePlot puts what stands in for matplotlib before a script.
func withFakePlot(t *testing.T, code string) []byte {
	t.Helper()
	fake, err := os.ReadFile("python/testdata/fakeplot.py")
	if err != nil {
		t.Fatal(err)
	}
	return append(fake, code...)
}

// drawFigures shows two figures, then one that cannot be saved, and leaves one that nobody shows.
const drawFigures = `
import matplotlib.pyplot as plt
plt.figure("one")
plt.figure("two")
plt.show(block=False)
plt.show()
plt.figure("bad")
plt.figure("late")
print(plt.get_backend())
`

// isFigures checks names and contents of what came back.
func isFigures(t *testing.T, got *hermes.Result, want map[string]string) {
	t.Helper()
	if got.Status != hermes.Success || len(got.Artifacts) != len(want) {
		t.Fatalf("%s %q %q %v, want %v", got.Status, got.Error, got.Warning, got.Artifacts, want)
	}
	for _, a := range got.Artifacts {
		data, err := os.ReadFile(a.Path)
		text, known := want[filepath.Base(a.Path)]
		if err != nil || !known || a.MediaType != "image/png" || string(data) != "\x89PNG\r\n\x1a\n"+text {
			t.Errorf("%v: %q, %v; want %q", a, data, err, text)
		}
	}
}

func TestFigures(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		t.Helper()
		o.Settings.Figures = true
		var stderr bytes.Buffer
		e := open(t, o)
		got := e.Run(t.Context(), hermes.Script{Code: withFakePlot(t, drawFigures), Artifacts: t.TempDir(), Stderr: &stderr})
		isFigures(t, got, map[string]string{"figure-1.png": "one", "figure-2.png": "two", "figure-4.png": "late"})
		if got.Output != "module://hermes_figures\n" || stderr.String() != "" || got.Warning != "artifact figure-3.png was not saved: ValueError: it is bad" {
			t.Errorf("%q %q %q", got.Output, stderr.String(), got.Warning)
		}

		// Files of the script's own keep their names, and a run that wants no artifacts is left alone.
		own := "import os\nopen(os.environ['HERMES_ARTIFACTS'] + '/figure-1.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\nmine')\n"
		got = e.Run(t.Context(), hermes.Script{Code: withFakePlot(t, own+drawFigures), Artifacts: t.TempDir()})
		isFigures(t, got, map[string]string{"figure-1.png": "mine", "figure-2.png": "one", "figure-3.png": "two", "figure-5.png": "late"})
		if got := e.Run(t.Context(), hermes.Script{Code: withFakePlot(t, drawFigures)}); got.Output != "agg\n" {
			t.Errorf("%+v", got)
		}
	})
}

// Figures that nothing could save are told.
func TestFiguresThatAreLost(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		t.Helper()
		o.Settings.Figures = true
		o.Settings.EnvSet = map[string]string{"TMPDIR": t.TempDir()} // what stands in for matplotlib stays there
		e := open(t, o)
		const draw = "import os, matplotlib.pyplot as plt\nfigure = plt.figure('one')\n"
		const lost = "figures that were open are not saved"
		for code, want := range map[string]string{
			"os._exit(0)":                              lost,
			"os.kill(os.getpid(), 9)":                  lost,
			"plt.show(); os._exit(0)":                  "",
			"plt.close(); os._exit(0)":                 "",
			"figure.savefig('/dev/null'); os._exit(0)": "",
		} {
			got := e.Run(t.Context(), hermes.Script{Code: withFakePlot(t, draw+code), Artifacts: t.TempDir()})
			if before, _, _ := strings.Cut(got.Warning, ":"); before != want {
				t.Errorf("%s: %q, want %q", code, got.Warning, want)
			}
		}
	})
}

func TestFiguresThatNobodyWants(t *testing.T) {
	o := options(t, "local")
	run := func() *hermes.Result {
		return open(t, o).Run(t.Context(), hermes.Script{Code: withFakePlot(t, drawFigures), Artifacts: t.TempDir()})
	}
	if got := run(); got.Output != "agg\n" || len(got.Artifacts) != 0 {
		t.Errorf("%+v", got)
	}
	o.Settings.Figures = true
	o.Settings.EnvSet = map[string]string{"MPLBACKEND": "svg"}
	if got := run(); got.Output != "svg\n" || len(got.Artifacts) != 0 {
		t.Errorf("%+v", got)
	}
	o.Settings.EnvSet = nil
	o.Settings.EnvPassthrough = []string{"MPLBACKEND"}
	o.Environ["MPLBACKEND"] = "pdf"
	if got := run(); got.Output != "pdf\n" || len(got.Artifacts) != 0 {
		t.Errorf("%+v", got)
	}
}

// A cell's figures come with it, under names that no earlier one has, if it is one that wants them.
func TestFiguresOfCells(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		t.Helper()
		c := &cells{t, newSessions(t), o}
		if got := c.leaving(string(withFakePlot(t, "\nimport os")), ""); got.Status != hermes.Success {
			t.Fatalf("%+v", got)
		}
		c.options.Settings.Figures = true
		if got := c.leaving("print('MPLBACKEND' in os.environ)", ""); got.Output != "False\n" || got.Warning != "" {
			t.Errorf("%+v", got)
		}
		got := c.leaving(drawFigures, t.TempDir())
		isFigures(t, got, map[string]string{"figure-1.png": "one", "figure-2.png": "two", "figure-4.png": "late"})
		got = c.leaving("import warnings; warnings.simplefilter('error')\nplt.figure('lost')\ntry: plt.show()\nexcept UserWarning as w: print(w)", "")
		if got.Output != "the figure is saved nowhere: run hermes-exec with --artifacts DIR --figures\n" || got.Warning != "" {
			t.Errorf("%+v", got)
		}
		c.options.Settings.Figures = false
		got = c.leaving("plt.figure('more')\nprint('MPLBACKEND' in os.environ)", t.TempDir())
		if got.Output != "False\n" || got.Warning != "" || len(got.Artifacts) > 0 {
			t.Errorf("%+v", got)
		}
		c.options.Settings.Figures = true
		got = c.leaving("plt.figure('next')", t.TempDir())
		isFigures(t, got, map[string]string{"figure-5.png": "lost", "figure-6.png": "more", "figure-7.png": "next"})
	})
}

// A session that has matplotlib already when figures are wanted has it with another backend.
func TestFiguresOfASessionThatDrawsAlready(t *testing.T) {
	both(t, func(t *testing.T, o hermes.Options) {
		t.Helper()
		c := &cells{t, newSessions(t), o}
		if got := c.leaving(string(withFakePlot(t, "\nimport os, matplotlib.pyplot as plt")), ""); got.Status != hermes.Success {
			t.Fatalf("%+v", got)
		}
		c.options.Settings.Figures = true
		for code, want := range map[string]string{
			"plt.show()":        "",
			"plt.figure('one')": "no figure came: those that are open are drawn by agg, which ",
			"plt.figure('one').savefig(os.environ['HERMES_ARTIFACTS'] + '/own.png')": "",
		} {
			got := c.leaving(code+"\n", t.TempDir())
			if !strings.HasPrefix(got.Warning, want) || want == "" && got.Warning != "" {
				t.Errorf("%s: %q, want %q; %s", code, got.Warning, want, got.Error)
			}
			if got := c.leaving("while plt.Gcf.figs: plt.close()", ""); got.Status != hermes.Success {
				t.Errorf("%+v", got)
			}
		}
	})
}

// Why no figure came is said where that is sure.
func TestFiguresThatDoNotCome(t *testing.T) {
	const pyplot = "\nimport os, matplotlib, matplotlib.pyplot as plt\n"
	for _, tt := range []struct{ name, code, env, want string }{
		{"its own choice", "\nimport matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\nplt.figure('one')", "", "the backend of matplotlib that the script chooses"},
		{"its own variable", "\nimport os\nos.environ['MPLBACKEND'] = 'agg'\nimport matplotlib.pyplot as plt\nplt.figure('one')", "", "the backend of matplotlib that the script chooses"},
		{"the caller's choice", pyplot + "plt.figure('one')", "svg", "gives way to MPLBACKEND"},
		{"figures of its own", "try: from matplotlib.figure import Figure\nexcept ImportError: pass", "", "--figures knows those of pyplot"},
		{"nothing is drawn", pyplot, "", ""},
		{"a comment", pyplot + "# matplotlib.use('agg')", "", ""},
		{"another picture", pyplot + "matplotlib.use('agg')\nopen(os.environ['HERMES_ARTIFACTS'] + '/a.svg', 'w').close()", "", ""},
		{"no matplotlib", "print(1)", "svg", ""},
		{"a script that fails", pyplot + "matplotlib.use('agg')\n1 / 0", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, "local")
			o.Settings.Figures = true
			if tt.env != "" {
				o.Settings.EnvSet = map[string]string{"MPLBACKEND": tt.env}
			}
			code := []byte(tt.code)
			if strings.Contains(tt.code, "matplotlib.pyplot") {
				code = withFakePlot(t, tt.code)
			}
			got := open(t, o).Run(t.Context(), hermes.Script{Code: code, Artifacts: t.TempDir()})
			if !strings.Contains(got.Warning, tt.want) || tt.want == "" && got.Warning != "" {
				t.Errorf("%q, want %q; %s", got.Warning, tt.want, got.Error)
			}
		})
	}
}

// TestFiguresOfMatplotlib is about the real one.
func TestFiguresOfMatplotlib(t *testing.T) {
	o := options(t, "local")
	if o.Settings.Python = withMatplotlib(t); o.Settings.Python == "" {
		testenv.Missing(t, "matplotlib", "no python3 here has it (Debian: python3-matplotlib)")
	}
	o.Settings.Figures = true
	const code = `
import matplotlib.pyplot as plt, os, warnings
warnings.simplefilter("error")
plt.plot([1, 2, 3])
plt.show()
figure, axes = plt.subplots()
axes.bar([1, 2], [3, 4])
figure.show()

def saved(name):
    figure, axes = plt.subplots()
    axes.set_xlabel("x")
    plt.savefig(os.environ["HERMES_ARTIFACTS"] + "/" + name)
    return axes
saved("own.png")
axes = saved("title.png")
axes.set_title("more")
axes.figure.canvas.draw()
axes = saved("label.png")
axes.xaxis.label.set_text("less")
plt.draw()
`
	got := open(t, o).Run(t.Context(), hermes.Script{Code: []byte(code), Artifacts: t.TempDir()})
	var names []string
	for _, a := range got.Artifacts {
		names = append(names, filepath.Base(a.Path))
	}
	want := []string{"figure-1.png", "figure-2.png", "figure-3.png", "figure-4.png", "label.png", "own.png", "title.png"}
	if got.Status != hermes.Success || !slices.Equal(names, want) {
		t.Fatalf("%s %q %v, want %v", got.Status, got.Error, names, want)
	}
	for _, a := range got.Artifacts {
		if a.MediaType != "image/png" || a.Bytes < 2000 {
			t.Errorf("%v", a)
		}
	}
}

// withMatplotlib is an interpreter that has it, or "".
func withMatplotlib(t *testing.T) string {
	t.Helper()
	for _, python := range []string{testenv.Python(t), "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import matplotlib.pyplot").Run() == nil {
			return python
		}
	}
	return ""
}
