package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Schema describes a function to a model.
type Schema struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema of type object
}

// SchemaOf describes a tool to a program that calls it without a script.
func SchemaOf(s Spec) (Schema, error) {
	parameters, err := parameterSchema(s.Params)
	if err != nil {
		return Schema{}, fmt.Errorf("schema of %s: %w", s.Name, err)
	}
	return Schema{Name: s.Name, Description: s.Summary, Parameters: parameters}, nil
}

// Formats lists what Format takes.
func Formats() []string { return []string{"openai", "anthropic", "mcp"} }

// Format returns the schema as an API expects it, indented, with a newline at the end. The error
// names a format that is unknown.
func (s Schema) Format(format string) ([]byte, error) {
	var v any
	switch format {
	case "openai":
		type function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		}
		v = struct {
			Type     string   `json:"type"`
			Function function `json:"function"`
		}{"function", function(s)}
	case "anthropic":
		v = struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"input_schema"`
		}(s)
	case "mcp":
		v = struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"inputSchema"`
		}(s)
	default:
		return nil, fmt.Errorf("unknown schema format %q; there are %s", format, list(Formats()))
	}
	return marshal(v, "  ")
}

// property is one property of a JSON Schema.
type property struct {
	Type        any             `json:"type,omitempty"` // a string, or several
	AnyOf       []property      `json:"anyOf,omitempty"`
	Items       *property       `json:"items,omitempty"`
	Description string          `json:"description,omitempty"`
	Enum        []any           `json:"enum,omitempty"`
	Minimum     *int64          `json:"minimum,omitempty"`
	Default     any             `json:"default,omitempty"`
	Properties  json.RawMessage `json:"properties,omitempty"`
	Required    []string        `json:"required,omitempty"`
	Additional  *bool           `json:"additionalProperties,omitempty"`
}

// parameterSchema keeps the order of params.
func parameterSchema(params []Param) (json.RawMessage, error) {
	object := property{Type: "object", Additional: new(bool)}
	ms := make([]member, len(params))
	for i, p := range params {
		value, err := marshal(paramSchema(p), "")
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		ms[i] = member{p.Name, bytes.TrimSpace(value)}
		if p.Required {
			object.Required = append(object.Required, p.Name)
		}
	}
	object.Properties = join(ms)
	return marshal(object, "")
}

func paramSchema(p Param) property {
	out := property{Description: p.Doc, Default: p.Default, Minimum: p.Min}
	for _, s := range p.Enum {
		out.Enum = append(out.Enum, s)
	}
	if p.Nullable && p.Enum != nil {
		out.Enum = append(out.Enum, nil)
	}
	types := []string{string(p.Type)}
	if p.Type == StringList {
		str := property{Type: string(String)}
		out.AnyOf = []property{str, {Type: "array", Items: &str}}
		types = nil
	}
	switch {
	case p.Nullable && types == nil:
		out.AnyOf = append(out.AnyOf, property{Type: "null"})
	case p.Nullable:
		out.Type = append(types, "null")
	case types != nil:
		out.Type = types[0]
	}
	return out
}

// marshal writes JSON as it is meant to be read: without HTML escapes.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return slices.Clip(b.Bytes()), nil
}
