package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/go-multierror"
	"go.yaml.in/yaml/v4"
)

// maxFile is more than any configuration has, in bytes.
const maxFile = 16 << 20

// forbidden are the tools that a script can never call, whoever defines them.
const forbidden = "execute_code delegate_task"

// file reads the configuration file and applies its keys.
func (l *loader) file() {
	name, asked := l.fileName()
	if name == "" {
		return
	}
	data, safe, err := readFile(name)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: name one that is there with --config, or leave that and HERMES_EXEC_CONFIG out", err)
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: set HERMES_HOME to a directory of your own, or --config to a file that you can read", err)
	}
	if err != nil {
		l.fail(&FileError{Path: name, Err: err})
		return
	}
	l.loaded.File = name
	root, err := parse(name, data)
	if err != nil {
		l.fail(err)
		return
	}
	f := &document{loader: l, name: name}
	f.root(root)
	if !safe && f.commands != nil {
		l.fail(&FileError{Path: name, Err: fmt.Errorf("refused, it sets %s and %w: chmod go-w it, and own it", join(f.commands), ErrUnsafe)})
	}
}

// fail records an error of the file as a whole.
func (l *loader) fail(err error) { l.errs = multierror.Append(l.errs, err) }

// fileName is the file to read, and whether somebody asked for it.
func (l *loader) fileName() (name string, asked bool) {
	for _, name := range []string{l.in.File, l.in.Environ[envPrefix+"CONFIG"]} {
		if name != "" {
			return l.path(name), true
		}
	}
	if l.loaded.Settings.Home == "" {
		return "", false
	}
	return filepath.Join(l.loaded.Settings.Home, "config.yaml"), false
}

// readFile reads a file and tells whether only its owner and root can change it. It looks at the
// file that it opened, so that nothing can be put in its place between check and use.
func readFile(name string) (data []byte, safe bool, err error) {
	f, info, err := openRegular(name)
	if err != nil {
		return nil, false, cause(err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, false, cause(err)
	}
	if len(data) > maxFile {
		return nil, false, errors.New("is larger than 16 MiB")
	}
	return data, ownerOnly(info), nil
}

// openRegular opens a file and nothing else: a FIFO without a writer would have it wait for ever.
func openRegular(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = errors.New("is a directory, want a file")
	case !info.Mode().IsRegular():
		err = errors.New("is no regular file")
	default:
		return f, info, nil
	}
	return nil, nil, errors.Join(err, f.Close())
}

// cause is an error of a file without the path, which the caller tells.
func cause(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}

// parse reads YAML. The error has the place.
func parse(name string, data []byte) (*yaml.Node, error) {
	if at := badByte(data); at >= 0 {
		line, column := position(data, at)
		return nil, &FileError{name, line, column, fmt.Errorf("byte 0x%02x is not UTF-8 text", data[at])}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		broken := &FileError{Path: name, Err: err}
		if e := (*yaml.LoadError)(nil); errors.As(err, &e) {
			broken.Line, broken.Column, broken.Err = e.Mark.Line, e.Mark.Column, errors.New(e.Message)
		}
		return nil, broken
	}
	if doc.Kind == 0 || len(doc.Content) == 0 || isNull(resolve(doc.Content[0])) {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	root := resolve(doc.Content[0])
	if root.Kind != yaml.MappingNode {
		return nil, &FileError{name, root.Line, root.Column, errors.New("want a mapping of sections, as `terminal:`")}
	}
	return root, nil
}

// badByte finds what YAML text cannot hold: invalid UTF-8 and control characters.
func badByte(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' {
			return i
		}
		i += n
	}
	return -1
}

// position counts lines and columns from 1.
func position(data []byte, at int) (line, column int) {
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	return bytes.Count(data[:at], []byte("\n")) + 1, utf8.RuneCount(data[start:at]) + 1
}

// document walks one file.
type document struct {
	*loader
	name     string
	commands []string // the keys that name commands or tools, or readmit secrets
}

// place is where a node is, for people.
func (d *document) place(n *yaml.Node) string { return fmt.Sprintf("file %s:%d", d.name, n.Line) }

// sections are those whose keys are read one by one. What stands under toolsSection is a list for each tool.
func sections() []string { return []string{"code_execution", "terminal", "web", "security"} }

const toolsSection = "tools"

// root applies the sections.
func (d *document) root(root *yaml.Node) {
	d.duplicates(root, "")
	for _, p := range pairs(root) {
		switch {
		case slices.Contains(sections(), p.name.Value):
			d.section(p.name, p.node)
		case p.name.Value == toolsSection:
			d.tools(p.name, p.node)
		default:
			d.entry(p.name, p.name.Value, p.node)
		}
	}
}

// section applies the keys of one section.
func (d *document) section(name, node *yaml.Node) {
	if isNull(node) {
		return
	}
	if node.Kind != yaml.MappingNode {
		d.fail(&FileError{d.name, node.Line, node.Column, fmt.Errorf("%s: want a mapping of keys to values", name.Value)})
		return
	}
	if name.Value == "web" {
		d.reserve(node)
	}
	d.duplicates(node, name.Value+".")
	for _, p := range pairs(node) {
		d.entry(p.name, name.Value+"."+p.name.Value, p.node)
	}
}

// entry applies one key. One that nobody knows belongs to Hermes Agent, or is a slip.
func (d *document) entry(name *yaml.Node, path string, node *yaml.Node) {
	plainPath := strings.TrimSuffix(path, "_file")
	i := slices.IndexFunc(d.loaded.keys, func(k key) bool {
		return k.name != "" && (k.name == path || k.secret && k.name == plainPath)
	})
	if i < 0 {
		d.unknown(name, path, node)
		return
	}
	if isNull(node) {
		return
	}
	k := d.loaded.keys[i]
	if k.command {
		d.commands = append(d.commands, path)
	}
	v := value{node: node, expand: d.expand}
	if k.name != path {
		d.fileOfSecret(k, v)
		return
	}
	d.apply(k, d.place(node), v)
}

// fileOfSecret applies a key that names the file which holds a secret.
func (d *document) fileOfSecret(k key, v value) {
	origin := d.place(v.node)
	file, err := v.text()
	switch {
	case err != nil:
		d.mistake(k, origin, "", err)
	case d.loaded.origins[k.id()] != "":
		d.mistake(k, origin, "", errBoth(k.name, k.name+"_file"))
	default:
		d.secretFile(k, origin, file)
	}
}

// secretFile gives a key the content of a file.
func (l *loader) secretFile(k key, origin, file string) {
	data, _, err := readFile(l.path(file))
	if err != nil {
		l.mistake(k, origin, "", fmt.Errorf("%s: %w", file, err))
		return
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		l.mistake(k, origin, "", fmt.Errorf("%s is empty: want the secret in it", file))
		return
	}
	l.apply(k, origin, value{texts: []string{secret}})
}

// duplicates reports keys that stand twice, of which YAML would silently take the last.
func (d *document) duplicates(mapping *yaml.Node, prefix string) {
	seen := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		k := mapping.Content[i]
		if first, ok := seen[k.Value]; ok && k.Kind == yaml.ScalarNode {
			d.fail(&FileError{d.name, k.Line, k.Column, fmt.Errorf("%s%s stands in line %d already", prefix, k.Value, first)})
		}
		seen[k.Value] = k.Line
	}
}

// tools takes the operator's tools over as they are.
func (d *document) tools(name, node *yaml.Node) {
	if isNull(node) {
		return
	}
	if node.Kind != yaml.MappingNode {
		d.fail(&FileError{d.name, node.Line, node.Column, errors.New("tools: want a mapping of names to tools")})
		return
	}
	d.reserve(node)
	d.duplicates(node, "tools.")
	for _, p := range pairs(node) {
		d.tool(p.name, p.node)
	}
	if d.loaded.Settings.OperatorTools != nil {
		d.commands = append(d.commands, "tools")
		d.loaded.origins["tools"] = d.place(name)
		d.loaded.Notes = append(d.loaded.Notes,
			fmt.Sprintf("%s:%d: tools: scripts do not get the tools of the operator in this version", d.name, name.Line))
	}
}

// tool takes one of the operator's tools over.
func (d *document) tool(name, node *yaml.Node) {
	if slices.Contains(strings.Fields(forbidden), name.Value) {
		d.fail(&FileError{d.name, name.Line, name.Column, fmt.Errorf("tools: %s cannot be called from a script, so it cannot be defined", name.Value)})
		return
	}
	if isNull(node) {
		return
	}
	var definition any
	if err := node.Decode(&definition); err != nil {
		d.fail(&FileError{d.name, node.Line, node.Column, fmt.Errorf("tools: %s: %w", name.Value, err)})
		return
	}
	if d.loaded.Settings.OperatorTools == nil {
		d.loaded.Settings.OperatorTools = map[string]any{}
	}
	d.loaded.Settings.OperatorTools[name.Value] = definition
}

// reference is how Hermes Agent's configuration names a variable.
func reference() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`) }

// expand replaces ${NAME} by the variable. What is not set stays as it is.
func (d *document) expand(text string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return reference().ReplaceAllStringFunc(text, func(ref string) string {
		if v, ok := d.in.Environ[ref[2:len(ref)-1]]; ok {
			return v
		}
		return ref
	})
}

// reserve notes the variables that a section reads: no script gets them.
func (d *document) reserve(node *yaml.Node) {
	for _, text := range texts(node, 0) {
		for _, m := range reference().FindAllStringSubmatch(text, -1) {
			d.loaded.Settings.ReservedEnv = union(d.loaded.Settings.ReservedEnv, m[1:])
		}
	}
}

// maxDepth bounds walks over a document, whose aliases may form a circle.
const maxDepth = 32

// texts are all values below a node.
func texts(node *yaml.Node, depth int) []string {
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}
	}
	all := []string{}
	for _, child := range node.Content {
		if depth < maxDepth && child.Kind != yaml.AliasNode {
			all = append(all, texts(child, depth+1)...)
		}
	}
	return all
}

// pair is one entry of a mapping, with aliases resolved.
type pair struct{ name, node *yaml.Node }

// pairs are the entries of a mapping. What is merged by << comes last, and only where the mapping
// does not say it itself.
func pairs(mapping *yaml.Node) []pair {
	var all []pair
	seen := map[string]bool{}
	mappings := []*yaml.Node{mapping}
	for i := 0; i < len(mappings) && i < maxDepth; i++ {
		own, merged := entries(mappings[i])
		mappings = append(mappings, merged...)
		for _, p := range own {
			if !seen[p.name.Value] {
				all = append(all, p)
			}
			seen[p.name.Value] = true
		}
	}
	return all
}

// entries are a mapping's own entries, and the mappings that it merges.
func entries(node *yaml.Node) (own []pair, merged []*yaml.Node) {
	if node.Kind == yaml.SequenceNode {
		for _, item := range node.Content {
			merged = append(merged, resolve(item))
		}
	}
	if node.Kind != yaml.MappingNode {
		return nil, merged
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		p := pair{node.Content[i], resolve(node.Content[i+1])}
		if p.name.Tag == "!!merge" {
			merged = append(merged, p.node)
		} else {
			own = append(own, p)
		}
	}
	return own, merged
}

// resolve follows an alias.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// isNull tells whether a node says nothing.
func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}
