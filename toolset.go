package hermes

import (
	"reflect"
	"slices"
	"sync"

	"github.com/hermes-exec/hermes-exec/config"
	"github.com/hermes-exec/hermes-exec/stubgen"
	"github.com/hermes-exec/hermes-exec/tool"
)

// toolset is what scripts get of the tools that there are. It does not change.
type toolset struct {
	own     []tool.Tool // the embedding program's
	names   []string    // those that were to be enabled; nil: all
	web     config.Web
	tools   *tool.Registry
	others  []string // the names of those that are not enabled
	stub    []byte   // hermes_tools.py
	unknown []string // warnings of names that had no effect
}

// newToolset chooses from the seven and the caller's own, and writes the module.
func newToolset(o Options) (*toolset, error) {
	own, names := o.Tools, o.Settings.Tools
	offered := append(tool.Builtin(o.Settings.Web), own...)
	all, _, err := tool.NewRegistry(offered, nil)
	if err != nil {
		return nil, usageError{err}
	}
	t := &toolset{own: slices.Clone(own), names: slices.Clone(names), web: o.Settings.Web}
	if t.tools, t.unknown, err = tool.NewRegistry(offered, names); err != nil {
		return nil, usageError{err}
	}
	for _, name := range all.Names() {
		if _, ok := t.tools.Lookup(name); !ok {
			t.others = append(t.others, name)
		}
	}
	t.stub, err = stubgen.Generate(t.tools.Specs())
	return t, err
}

// is tells whether t is what newToolset would make.
func (t *toolset) is(o Options) bool {
	own, names := o.Tools, o.Settings.Tools
	return t.web == o.Settings.Web && (names == nil) == (t.names == nil) && slices.Equal(names, t.names) && slices.EqualFunc(own, t.own, sameTool)
}

// sameTool compares tools that can be compared.
func sameTool(a, b tool.Tool) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// toolsets remembers the last one: to make it takes longer than to run a small cell. It is safe for
// concurrent use.
type toolsets struct {
	mu   sync.Mutex
	last *toolset
}

func (c *toolsets) get(o Options) (*toolset, error) {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if last != nil && last.is(o) {
		return last, nil
	}
	t, err := newToolset(o)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last = t
	}
	return t, err
}
