package hermes

import (
	"path"
	"slices"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/python"
)

const (
	envFigures     = "MPLBACKEND" // the variable by which matplotlib is told its backend
	figuresBackend = "module://hermes_figures"
	figuresName    = "hermes_figures.py" // in a staging directory, which is first on PYTHONPATH
)

// figures tells whether matplotlib is to save its figures as artifacts: if that is the setting, and
// the caller has not named another backend.
func (e *Env) figures() bool {
	s := e.options.Settings
	if !s.Figures {
		return false
	}
	passthrough, set := s.Environment(e.options.Environ)
	if _, ok := set[envFigures]; ok {
		return false
	}
	_, has := e.options.Environ[envFigures]
	return !has || !slices.Contains(passthrough, envFigures)
}

// figuresFile is the module that the variable names.
func figuresFile(staging string) backend.File {
	return backend.File{Name: path.Join(staging, figuresName), Data: python.Figures(), Mode: 0o600}
}

// What a script's text says of matplotlib, outside a comment.
const (
	usesMatplotlib = `(?m)^[^#\n]*\b(?:matplotlib|pyplot|pylab|seaborn)\b`
	usesPyplot     = `(?m)^[^#\n]*\b(?:pyplot|pylab|seaborn)\b`
	choosesBackend = `(?m)^[^#\n]*(?:\b(?:matplotlib|mpl)\.use\(|\bmatplotlib import [^#\n]*\buse\b|\bswitch_backend\(` +
		`|\brcParams\[\s*["']backend["']\s*\]\s*=|["']MPLBACKEND["'])`
	makesFigures = `(?m)^[^#\n]*(?:\bmatplotlib\.figure\b|\bmatplotlib import [^#\n]*\bfigure\b)`
)

// noFigures warns that none came where a script that draws has ended well, if it is sure of the reason.
func (r *run) noFigures() []string {
	if !r.env.options.Settings.Figures || slices.ContainsFunc(r.artifacts, Artifact.picture) {
		return nil
	}
	if !r.outcome.Delivered || r.outcome.Exit != nil {
		return nil
	}
	code := string(r.source.code)
	has := func(expr string) bool { return match(expr, code) != nil }
	const instead = ", or save figures with savefig in $" + envArtifacts
	switch {
	case r.drawnBy != "":
		return []string{"no figure came: those that are open are drawn by " + r.drawnBy + ", which this session's matplotlib got before --figures was asked for, " +
			"or by its own choice: use --figures from the start (--reset)" + instead}
	case !has(usesMatplotlib):
	case !r.env.figures():
		return []string{"no figure came: --figures gives way to " + envFigures + ", which --env or terminal.env_passthrough gives to the script: leave it out" + instead}
	case has(choosesBackend):
		return []string{"no figure came: --figures gives way to the backend of matplotlib that the script chooses: leave the choice out" + instead}
	case has(makesFigures) && !has(usesPyplot):
		return []string{"no figure came: --figures knows those of pyplot, and the script makes its own: make them with pyplot" + instead}
	}
	return nil
}

// picture tells whether it may be a figure that a script has saved.
func (a Artifact) picture() bool {
	return strings.HasPrefix(a.MediaType, "image/") || a.MediaType == "application/pdf" || a.MediaType == "application/postscript"
}

// What programs say when there is no display to draw to.
const (
	noBackend = `^Cannot load backend '([^']+)' which requires the '[^']+' interactive framework`
	noDisplay = `^no display name and no \$DISPLAY environment variable`
)

// headless: the script wants windows where there are none.
func headless(_ evidence, x raised) string {
	const advice = "with --artifacts DIR --figures what it draws comes back as files."
	if m := match(noBackend, x.message); m != nil && x.kind == "ImportError" {
		return "There is no display for windows: leave out the choice of " + m[1] + ", and matplotlib needs none; " + advice
	}
	if strings.HasSuffix(x.kind, "TclError") && match(noDisplay, x.message) != nil {
		return "There is no display for windows: draw with matplotlib's pyplot, which needs none; " + advice
	}
	return ""
}
