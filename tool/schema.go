package tool

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// ArgsSchema returns the JSON Schema of the arguments of s, on one line, with the parameters in their
// order: what Validate checks, for programs that call a tool without a script.
func ArgsSchema(s Spec) (json.RawMessage, error) {
	object := property{Type: "object", Additional: new(bool)}
	ms := make([]member, len(s.Params))
	for i, p := range s.Params {
		value, err := marshal(paramSchema(p))
		if err != nil {
			return nil, fmt.Errorf("schema of %s: parameter %s: %w", s.Name, p.Name, err)
		}
		ms[i] = member{p.Name, value}
		if p.Required {
			object.Required = append(object.Required, p.Name)
		}
	}
	object.Properties = join(ms)
	text, err := marshal(object)
	return json.RawMessage(text), err
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
func marshal(v any) (jsontext.Value, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
