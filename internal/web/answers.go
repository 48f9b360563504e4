package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// scalar is a text in an answer. Engines take titles from pages, and one that is a number is its digits.
type scalar string

// UnmarshalJSON makes nothing of what is no scalar: that one field is odd is no reason to lose all results.
func (s *scalar) UnmarshalJSON(value []byte) error {
	var text string
	switch err := json.Unmarshal(value, &text); {
	case err == nil:
		*s = scalar(text)
	case value[0] != '{' && value[0] != '[':
		*s = scalar(value)
	}
	return nil
}

// lacking says that an answer of status 200 has no list of results, and what it has to say instead.
func lacking(list string, body []byte) error {
	var a map[string]json.RawMessage
	_ = json.Unmarshal(body, &a) // what has another form says nothing
	for _, name := range []string{"error", "message", "detail"} {
		var text string
		_ = json.Unmarshal(a[name], &text) // the same
		if text = oneLineOf(text); text != "" {
			return fmt.Errorf(`the answer lacks its list "%s"; it says: %s`, list, clip(text))
		}
	}
	return fmt.Errorf(`the answer lacks its list "%s"`, list)
}

// unreadable says that an answer is not in the provider's format.
func unreadable(err error) error {
	var shape *json.UnmarshalTypeError
	if !errors.As(err, &shape) {
		return errors.New("the answer is no JSON")
	}
	where, what, article := "it", strings.Fields(shape.Value)[0], "a "
	if shape.Field != "" {
		where = `"` + strings.ToLower(shape.Field) + `" in it`
	}
	switch what {
	case "object", "array":
		article = "an "
	case "bool":
		what = "boolean"
	}
	return errors.New("the answer is not as expected: " + where + " is " + article + what)
}
