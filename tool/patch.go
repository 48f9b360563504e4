package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	maxPatched  = 64 << 20 // bytes of a file that patch takes
	maxListings = 20       // places that an ambiguity lists
)

// patchTool replaces text in a file.
type patchTool struct{}

var (
	_ Tool        = patchTool{}
	_ ArgsChecker = patchTool{}
)

// Spec describes patch. No parameter is required by the Spec, for the two modes need different
// ones; CheckArgs says what is missing.
func (patchTool) Spec() Spec {
	return Spec{
		Name:    "patch",
		Summary: "Replace one exact text in a file by another; the old text must occur once unless replace_all is set.",
		Params: []Param{
			{Name: "path", Type: String, Nullable: true, NonEmpty: true, NoNUL: true, Doc: "The file, relative to the current directory or absolute."},
			{Name: "old_string", Type: String, Nullable: true, Doc: "The text to replace, literally."},
			{Name: "new_string", Type: String, Nullable: true, Doc: "The text to put in its place, literally."},
			{Name: "replace_all", Type: Boolean, Default: false, Nullable: true, Doc: "Replace every occurrence."},
			{Name: "diff", Type: Boolean, Default: false, Nullable: true, Doc: "Return the unified diff too."},
			{Name: "patch", Type: String, Nullable: true, Doc: "A patch in V4A format, for mode=\"patch\"."},
			{Name: "mode", Type: String, Default: "replace", Nullable: true, Enum: []string{"replace", "patch"}, Doc: "Replace old_string, or apply patch."},
		},
		Returns: `{"status": "success", "success": True, "replacements": int}; ` +
			`with diff=True also "diff": str and "files_modified": [str]`,
	}
}

type patchArgs struct {
	Path       *string
	OldString  *string `json:"old_string"`
	NewString  *string `json:"new_string"`
	ReplaceAll bool    `json:"replace_all"`
	Diff       bool
	Patch      *string
	Mode       string
}

// patchResult says what was replaced.
type patchResult struct {
	Status       string `json:"status"`
	Success      bool   `json:"success"`
	Replacements int    `json:"replacements"`
	*patchDiff
}

type patchDiff struct {
	Diff          string   `json:"diff"`
	FilesModified []string `json:"files_modified"`
}

// Call replaces the text. Everything else in the file stays as it is, byte for byte: line ends, the
// byte-order mark, the mode; and a symlink stays one.
func (patchTool) Call(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error) {
	var a patchArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	result, err := a.apply(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	return encode(result)
}

// CheckArgs implements ArgsChecker.
func (patchTool) CheckArgs(args json.RawMessage) error {
	var a patchArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if err := a.check(); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	return nil
}

func (a *patchArgs) check() error {
	if a.Mode == "patch" || a.Patch != nil {
		return errors.New("V4A patches are not supported yet; use path, old_string and new_string")
	}
	var missing []string
	for _, p := range []struct {
		name  string
		value *string
	}{{"path", a.Path}, {"old_string", a.OldString}, {"new_string", a.NewString}} {
		if p.value == nil {
			missing = append(missing, quote(p.name))
		}
	}
	switch {
	case len(missing) > 0:
		return errors.New("missing argument " + strings.Join(missing, ", "))
	case *a.OldString == "":
		return errors.New("old_string is empty; write_file writes whole files")
	case *a.OldString == *a.NewString:
		return errors.New("old_string and new_string are the same")
	}
	return nil
}

func (a *patchArgs) apply(ctx context.Context, env *Env) (*patchResult, error) {
	r, err := env.locate(*a.Path)
	if err != nil {
		return nil, err
	}
	file, unlock, err := env.Files.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	defer unlock()
	data, err := readWhole(ctx, env, file.Path, r.Name)
	if err != nil {
		return nil, err
	}
	text, err := decodeText(data)
	if err != nil {
		return nil, fileError(r.Name, err)
	}
	after, n, err := replace(text.body, *a.OldString, *a.NewString, a.ReplaceAll)
	if err != nil {
		return nil, fileError(r.Name, err)
	}
	if err := env.put(ctx, r, file, text.encode(after)); err != nil {
		return nil, err
	}
	result := &patchResult{Status: "success", Success: true, Replacements: n}
	if a.Diff {
		diff := udiff.Unified("a/"+strings.TrimPrefix(r.Name, "/"), "b/"+strings.TrimPrefix(r.Name, "/"), text.body, after)
		result.patchDiff = &patchDiff{Diff: diff, FilesModified: []string{r.Name}}
	}
	return result, nil
}

// readWhole returns the content of a file in the environment; name is how its caller calls it. Memory
// is asked for as the file comes: for three copies of it, as patching makes.
func readWhole(ctx context.Context, env *Env, path, name string) ([]byte, error) {
	f, err := env.Backend.Get(ctx, path)
	if err != nil {
		return nil, fileError(name, err)
	}
	defer f.Close()
	var data []byte
	for {
		if len(data) == cap(data) {
			size := min(max(2*cap(data), 64<<10), maxPatched+1)
			if size == len(data) {
				return nil, fmt.Errorf("%s: is larger than %d bytes", clipPath(name), maxPatched)
			}
			if err := env.admit(ctx, 3*int64(size)); err != nil {
				return nil, err
			}
			data = append(make([]byte, 0, size), data...)
		}
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, fileError(name, err)
		}
	}
}

// replace puts after in the place of before, literally, and counts.
func replace(text, before, after string, all bool) (string, int, error) {
	if all {
		n := strings.Count(text, before)
		if n == 0 {
			return "", 0, notFound(text, before)
		}
		return strings.ReplaceAll(text, before, after), n, nil
	}
	switch places := occurrences(text, before); len(places) {
	case 0:
		return "", 0, notFound(text, before)
	case 1:
		at := places[0]
		return text[:at] + after + text[at+len(before):], 1, nil
	default:
		return "", 0, ambiguous(text, places)
	}
}

// occurrences returns where s stands in text, overlapping ones too: each could be meant.
func occurrences(text, s string) []int {
	var places []int
	for from := 0; ; {
		i := strings.Index(text[from:], s)
		if i < 0 {
			return places
		}
		places = append(places, from+i)
		from += i + 1
	}
}

func notFound(text, before string) error {
	if strings.Contains(text, "\r\n") && strings.Contains(text, toCRLF(before)) {
		return errors.New("old_string was not found: the lines of the file end in \\r\\n, those of old_string in \\n")
	}
	return errors.New("old_string was not found")
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// ambiguous lists the lines where the text stands.
func ambiguous(text string, places []int) error {
	var lines []string
	line, from := 1, 0
	for _, at := range places[:min(len(places), maxListings)] {
		line += strings.Count(text[from:at], "\n")
		from = at
		if s := strconv.Itoa(line); len(lines) == 0 || lines[len(lines)-1] != s {
			lines = append(lines, s)
		}
	}
	more := ""
	if len(places) > maxListings {
		more = " and further down"
	}
	on := "lines"
	if len(lines) == 1 {
		on = "line"
	}
	return fmt.Errorf("old_string occurs %d times, on %s %s%s; add more of what is around it, or set replace_all",
		len(places), on, strings.Join(lines, ", "), more)
}
