package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// checked guards a tool that an operator or an embedding program added: the seven are trusted to
// keep the contract of Call, and their large results need no second look.
type checked struct{ Tool }

// Call brings the result to one line and to an object. An object with an "error" is a failure in
// other people's style: it becomes an error, so that a success never has that key.
func (t checked) Call(ctx context.Context, env *Env, args json.RawMessage) (json.RawMessage, error) {
	result, err := t.Tool.Call(ctx, env, args)
	if err != nil {
		return nil, err
	}
	line := jsontext.Value(result).Clone() // the tool may keep what it returned
	if err := cmp.Or(checkJSON(line), line.Compact()); err != nil {
		return nil, fmt.Errorf("%s returned what is not JSON: %w", t.Spec().Name, err)
	}
	ms, err := members(line)
	if err != nil {
		return nil, fmt.Errorf("%s returned JSON that is no object", t.Spec().Name)
	}
	return splitError(ms, line)
}

// splitError takes an "error" that says nothing out of a result, and makes an error of any other.
func splitError(ms []member, line jsontext.Value) (json.RawMessage, error) {
	i := slices.IndexFunc(ms, func(m member) bool { return m.name == "error" })
	if i < 0 {
		return json.RawMessage(line), nil
	}
	switch text := string(ms[i].value); text {
	case "null", "false", `""`:
		ms[i].value = nil
		return join(ms), nil
	default:
		if s, err := jsontext.AppendUnquote(nil, text); err == nil {
			text = string(s)
		}
		return nil, errors.New(text)
	}
}
