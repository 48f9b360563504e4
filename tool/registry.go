package tool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-exec/hermes-exec/internal/near"
)

const (
	searchAlias = "search"
	searchFiles = "search_files"
)

// Alias returns the early name of a tool, which scripts and configurations may still use, or "".
func Alias(name string) string {
	if name == searchFiles {
		return searchAlias
	}
	return ""
}

// Canonical returns the name that a tool is registered under: search is search_files.
func Canonical(name string) string {
	if name == searchAlias {
		return searchFiles
	}
	return name
}

// Registry is the set of tools that a run offers. It does not change and is safe for concurrent use;
// the zero value has no tools.
type Registry struct {
	tools []Tool // by name
	specs []Spec // of tools
}

// NewRegistry returns those of tools that enabled names, in alphabetical order; nil enables all. It
// says as warnings what of enabled had no effect: a configuration may name tools of other programs,
// so that is no mistake. The error names a tool that cannot be offered at all.
func NewRegistry(tools []Tool, enabled []string) (*Registry, []string, error) {
	all, err := newRegistry(tools)
	if err != nil || enabled == nil {
		return all, nil, err
	}
	r := &Registry{}
	var unknown []string
	for _, name := range enabled {
		if _, ok := all.Lookup(strings.TrimSpace(name)); !ok {
			unknown = append(unknown, asked(strings.TrimSpace(name), all.Names()))
		}
	}
	for i, s := range all.specs {
		if slices.ContainsFunc(enabled, func(name string) bool { return Canonical(strings.TrimSpace(name)) == s.Name }) {
			r.tools = append(r.tools, all.tools[i])
			r.specs = append(r.specs, s)
		}
	}
	return r, listWarnings(r, all, unknown), nil
}

// newRegistry checks and sorts tools.
func newRegistry(tools []Tool) (*Registry, error) {
	r := &Registry{}
	for _, t := range tools {
		s := t.Spec()
		if err := CheckSpec(s); err != nil {
			return nil, err
		}
		if !isBuiltin(s.Name) {
			t = checked{t}
		}
		r.tools = append(r.tools, t)
	}
	slices.SortStableFunc(r.tools, func(a, b Tool) int { return cmp.Compare(a.Spec().Name, b.Spec().Name) })
	for _, t := range r.tools {
		s := t.Spec()
		if n := len(r.specs); n > 0 && r.specs[n-1].Name == s.Name {
			return nil, fmt.Errorf("tool %q: there are two of that name", s.Name)
		}
		r.specs = append(r.specs, s)
	}
	return r, nil
}

func isBuiltin(name string) bool {
	return slices.ContainsFunc(Seven(), func(t Tool) bool { return t.Spec().Name == name })
}

func listWarnings(r, all *Registry, unknown []string) []string {
	there := "there are " + list(all.Names())
	switch {
	case len(r.tools) == 0 && len(unknown) == 0:
		return []string{"the list of enabled tools is empty: the script has no tools; " + there}
	case len(r.tools) == 0:
		return []string{"no tool is called " + strings.Join(unknown, ", ") + ": the script has no tools; " + there}
	case len(unknown) > 0:
		return []string{"no tool is called " + strings.Join(unknown, ", ") + "; " + there}
	}
	return nil
}

// asked is a name that is not there, with the one that it nearly is.
func asked(name string, names []string) string {
	if meant := near.One(name, names); meant != "" {
		return fmt.Sprintf("%s (did you mean %s?)", quote(name), meant)
	}
	return quote(name)
}

// list joins names for a sentence.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Names returns the names of the tools in alphabetical order.
func (r *Registry) Names() []string {
	names := make([]string, len(r.specs))
	for i, s := range r.specs {
		names[i] = s.Name
	}
	return names
}

// Specs returns the descriptions of the tools in the order of their names.
func (r *Registry) Specs() []Spec { return slices.Clone(r.specs) }

// Lookup returns the tool of that name or alias.
func (r *Registry) Lookup(name string) (Tool, bool) {
	i, ok := r.find(name)
	if !ok {
		return nil, false
	}
	return r.tools[i], true
}

func (r *Registry) find(name string) (int, bool) {
	return slices.BinarySearchFunc(r.specs, Canonical(name), func(s Spec, name string) int {
		return cmp.Compare(s.Name, name)
	})
}
