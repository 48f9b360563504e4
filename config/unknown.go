package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/hermes-exec/hermes-exec/internal/near"
)

// unknown tells of a key that nobody knows: whoever has written one that is nearly ours meant that, and
// every result says so; others are those of Hermes Agent, or of another version, and the log does.
func (d *document) unknown(name *yaml.Node, path string, node *yaml.Node) {
	note := fmt.Sprintf("%s:%d: unknown key %s is ignored", d.name, name.Line, path)
	if meant := d.meant(path, node); meant != "" {
		d.loaded.Settings.Warnings = append(d.loaded.Settings.Warnings, note+": did you mean "+meant+"?")
		return
	}
	d.loaded.Notes = append(d.loaded.Notes, note)
}

// meant is the key that one which nobody knows nearly is, in the same section, or whose section is
// missing; "" if there is none.
func (d *document) meant(path string, node *yaml.Node) string {
	section, last, inside := strings.Cut(path, ".")
	var names []string // of the section; at the top those of sections
	for _, k := range d.loaded.keys {
		of, name, has := strings.Cut(k.name, ".")
		switch {
		case inside && has && of == section:
			names = append(names, name)
			if k.secret {
				names = append(names, name+"_file")
			}
		case !inside && !has && node.Kind == yaml.ScalarNode:
			names = append(names, of)
		case !inside && name == path && node.Kind != yaml.MappingNode:
			return k.name
		}
	}
	if inside {
		if found := near.One(last, names); found != "" {
			return section + "." + found
		}
		return ""
	}
	if node.Kind == yaml.MappingNode {
		names = append(sections(), toolsSection)
	}
	return near.One(path, names)
}
