package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	maxPatched  = 64 << 20 // bytes of a file that patch takes
	maxListings = 20       // places that an ambiguity lists

	// Up to here a text is looked at line by line: a line takes far more memory than its end takes in the file.
	maxByLine = 16 << 20 // bytes
	maxLines  = 1 << 18
)

// patchTool replaces text in a file, or applies a patch of several.
type patchTool struct{}

var (
	_ Tool        = patchTool{}
	_ ArgsChecker = patchTool{}
)

// Spec describes patch. No parameter is required by the Spec, for the two modes need different
// ones; CheckArgs says what is missing.
func (patchTool) Spec() Spec {
	return Spec{
		Name: "patch",
		Summary: "Replace a text in a file by another; the old text must occur once unless replace_all is set. " +
			"Or change several files, all or nothing, by patch(mode='patch', patch=TEXT) in V4A format: a line *** Begin Patch, " +
			"a line *** Update File: PATH (or Add File, Delete File), lines @@ and lines that begin with a space, - or +, a line *** End Patch.",
		Params: []Param{
			{Name: "path", Type: String, Nullable: true, NonEmpty: true, NoNUL: true, Doc: "The file, relative to the current directory or absolute."},
			{Name: "old_string", Type: String, Nullable: true, Doc: "The text to replace, literally; whole lines are found even if their white space differs."},
			{Name: "new_string", Type: String, Nullable: true, Doc: "The text to put in its place, literally."},
			{Name: "replace_all", Type: Boolean, Default: false, Nullable: true, Doc: "Replace every occurrence."},
			{Name: "diff", Type: Boolean, Default: false, Nullable: true, Doc: "Return the unified diff too."},
			{Name: "patch", Type: String, Nullable: true, Doc: "A patch in V4A format (*** Begin Patch …), for mode=\"patch\": all of it is applied, or nothing."},
			{Name: "mode", Type: String, Default: "replace", Nullable: true, Enum: []string{"replace", "patch"}, Doc: "Replace old_string, or apply patch."},
		},
		Returns: `{"status": "success", "success": True, "replacements": int}; ` +
			`with diff=True also "diff": str and "files_modified": [str]; "note": str if the change is not literal`,
		Keys: []string{"status", "success", "replacements", "note", "diff", "files_modified"},
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
	Note         string `json:"note,omitempty"` // in what the change is not literal
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
		return a.checkPatch()
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

// checkPatch is check for a patch of whole files.
func (a *patchArgs) checkPatch() error {
	switch {
	case a.Patch == nil:
		return errors.New("missing argument 'patch', which mode=\"patch\" needs")
	case a.Path != nil || a.OldString != nil || a.NewString != nil:
		return errors.New("a patch names its files itself: leave out path, old_string and new_string")
	}
	_, err := parseV4A(*a.Patch)
	return err
}

func (a *patchArgs) apply(ctx context.Context, env *Env) (*patchResult, error) {
	if a.Patch != nil {
		return a.applyPatch(ctx, env)
	}
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
	after, n, note, err := a.replaced(ctx, text.body)
	if err != nil {
		return nil, fileError(r.Name, err)
	}
	if err := env.put(ctx, r, file, text.encode(after)); err != nil {
		return nil, err
	}
	result := &patchResult{Status: "success", Success: true, Replacements: n, Note: note}
	if a.Diff {
		result.patchDiff = &patchDiff{Diff: unified(r.Name, r.Name, text.body, after), FilesModified: []string{r.Name}}
	}
	return result, nil
}

// unified is the difference between two texts of a file, which may have two names.
func unified(from, to, before, after string) string {
	return udiff.Unified(aside("a/", from), aside("b/", to), before, after)
}

// aside is a name on one side of a diff. None is that of no file.
func aside(side, name string) string {
	if name == "" {
		return "/dev/null"
	}
	return side + strings.TrimPrefix(name, "/")
}

// replaced is a text with the replacement made, with how often and in what it is not literal.
func (a *patchArgs) replaced(ctx context.Context, text string) (after string, n int, note string, err error) {
	after, n, err = replace(text, *a.OldString, *a.NewString, a.ReplaceAll)
	if err == nil && a.endsDiffer(text) {
		after, n, err = replace(text, withCRLF(*a.OldString), withCRLF(*a.NewString), a.ReplaceAll)
		return after, n, "new_string was given the line ends of the file", err
	}
	if err == nil && a.losesEnds() {
		return after, n, `the lines of old_string end in \r\n and those of new_string in \n, as they were given`, nil
	}
	if err == nil && !a.ReplaceAll {
		return after, n, a.hangs(text), nil
	}
	if !errors.Is(err, errNotFound) {
		return after, n, "", err
	}
	if err := cmp.Or(byLine("the file", text), byLine("old_string", *a.OldString), byLine("new_string", *a.NewString)); err != nil {
		return "", 0, "", fmt.Errorf("%w literally, and nothing else is looked for: %w", errNotFound, err)
	}
	c, err := tolerant(ctx, text, *a.OldString, *a.NewString)
	near := func() string { return nearest(text, 0, *a.OldString) }
	switch {
	case a.ReplaceAll && c != nil:
		return "", 0, "", fmt.Errorf("%w literally, and with replace_all nothing else counts; without it, it is found %s%s", errNotFound, c.place, near())
	case err != nil:
		return "", 0, "", err
	case c == nil:
		return "", 0, "", fmt.Errorf("%w%s", errNotFound, near())
	}
	return text[:c.from] + c.with + text[c.to:], 1, c.note, nil
}

// endsDiffer tells whether the lines of a text all end in CRLF, and those of the call in LF. A call that has a CR
// in old_string or a CRLF in new_string knows about line ends.
func (a *patchArgs) endsDiffer(text string) bool {
	if strings.Contains(*a.OldString, "\r") || strings.Contains(*a.NewString, "\r\n") || !strings.Contains(*a.OldString+*a.NewString, "\n") {
		return false
	}
	n := strings.Count(text, "\n")
	return n > 0 && n == strings.Count(text, "\r\n")
}

// losesEnds tells whether old_string was copied with its CRLF and new_string written without.
func (a *patchArgs) losesEnds() bool {
	copied := strings.Contains(*a.OldString, "\r\n") && strings.Trim(*a.OldString, "\r\n") != ""
	return copied && strings.Contains(*a.NewString, "\n") && !strings.Contains(*a.NewString, "\r")
}

// hangs tells of a new_string that begins behind the indentation of a line of the text, in the place of what
// was there, and whose other lines have less than that: its caller may have taken it for the first of a block.
func (a *patchArgs) hangs(text string) string {
	at := strings.Index(text, *a.OldString)
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	indent, rest := cutIndent(text[begin:at])
	if indent == "" || rest != "" {
		return ""
	}
	for i, line := range splitLines(*a.NewString) {
		if _, more := cutIndent(line); i > 0 && more != "" && !strings.HasPrefix(line, indent) {
			number := strings.Count(text[:at], "\n") + 1
			return fmt.Sprintf("new_string stands behind the indentation of line %d, and its other lines were taken as they are, which have less", number)
		}
	}
	return ""
}

// withCRLF is a text whose lines end in LF with the other end.
func withCRLF(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// byLine tells why a text is not looked at line by line.
func byLine(what, text string) error {
	if len(text) > maxByLine || strings.Count(text, "\n") > maxLines {
		return fmt.Errorf("%s has more than %d MiB or %d lines", what, maxByLine>>20, maxLines)
	}
	return nil
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
			return "", 0, errNotFound
		}
		return strings.ReplaceAll(text, before, after), n, nil
	}
	switch places := occurrences(text, before); len(places) {
	case 0:
		return "", 0, errNotFound
	case 1:
		at := places[0]
		return text[:at] + after + text[at+len(before):], 1, nil
	default:
		return "", 0, ambiguous(text, places)
	}
}

// occurrences returns where s stands in text, overlapping ones too: each could be meant. There may be more
// than maxListings+1, which are not looked for.
func occurrences(text, s string) []int {
	var places []int
	for from := 0; ; {
		i := strings.Index(text[from:], s)
		if i < 0 || len(places) > maxListings {
			return places
		}
		places = append(places, from+i)
		from += i + 1
	}
}

var errNotFound = errors.New("old_string was not found")

// ambiguous lists the lines where the text stands.
func ambiguous(text string, places []int) error {
	var lines []int
	line, from := 1, 0
	for _, at := range places {
		line += strings.Count(text[from:at], "\n")
		from = at
		lines = append(lines, line)
	}
	times := strconv.Itoa(len(places))
	if len(places) > maxListings {
		times = fmt.Sprintf("more than %d", maxListings)
	}
	return fmt.Errorf("old_string occurs %s times, on %s; add more of what is around it, or set replace_all", times, listed(lines))
}

// listed names lines, which are in order, each once. Beyond maxListings it says that there are more.
func listed(lines []int) string {
	shown := slices.Compact(slices.Clone(lines[:min(len(lines), maxListings)]))
	words := make([]string, len(shown))
	for i, n := range shown {
		words[i] = strconv.Itoa(n)
	}
	name, more := "lines ", ""
	if len(words) == 1 {
		name = "line "
	}
	if len(lines) > maxListings {
		more = " and further down"
	}
	return name + strings.Join(words, ", ") + more
}
