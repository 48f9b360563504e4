package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// validate checks the arguments of one call against s, less the parameters that are blocked, and
// returns them in their normal form, which is args itself where nothing had to be changed: a null for
// a parameter that takes one is left out, a whole number written as 5.0 is 5, and one string for a
// list is a list of one. The error names every mistake, in words that help a model to repair the call.
//
// Args has passed checkJSON, or the like in the transport: looking at every byte of a large text again
// would cost a third of its call.
func validate(s Spec, args json.RawMessage, blocked []string) (json.RawMessage, error) {
	ms, err := members(args)
	if err != nil {
		return nil, fmt.Errorf("%s: arguments %w", s.Name, err)
	}
	v := validation{spec: s, blocked: blocked}
	for i := range ms {
		v.member(&ms[i])
	}
	v.missing(ms)
	if err := v.err(); err != nil {
		return nil, err
	}
	if !v.changed {
		return args, nil
	}
	return join(ms), nil
}

// maxMistakes is how many mistakes of one call are named.
const maxMistakes = 20

// validation collects what is wrong with one call.
type validation struct {
	spec     Spec
	blocked  []string
	mistakes []string
	usage    bool // the mistakes are such that the list of parameters helps
	changed  bool // the normal form differs
}

func (v *validation) member(m *member) {
	if slices.Contains(v.blocked, m.name) {
		m.value, v.changed = nil, true
		return
	}
	i := slices.IndexFunc(v.spec.Params, func(p Param) bool { return p.Name == m.name })
	if i < 0 {
		v.mistakes = append(v.mistakes, "unknown argument "+quote(m.name))
		v.usage = true
		return
	}
	p := v.spec.Params[i]
	if p.Nullable && m.value.Kind() == jsontext.KindNull {
		m.value, v.changed = nil, true
		return
	}
	if why := v.value(p, m); why != "" {
		v.mistakes = append(v.mistakes, fmt.Sprintf("argument %s must be %s", quote(p.Name), why))
	}
}

// value checks and normalises one value. It returns what the value must be, and what it is instead.
func (v *validation) value(p Param, m *member) string {
	switch p.Type {
	case String:
		return checkString(p, m.value)
	case Integer:
		n, why := integer(p, m.value)
		v.replace(m, n)
		return why
	case Number:
		return checkNumber(p, m.value)
	case Boolean:
		return checkKind(m.value, "a boolean", jsontext.KindTrue, jsontext.KindFalse)
	case StringList:
		list, why := stringList(m.value)
		v.replace(m, list)
		return why
	default:
		return fmt.Sprintf("of the unknown type %q", p.Type)
	}
}

// replace puts in the normal form of a value, unless it is nil.
func (v *validation) replace(m *member, normal jsontext.Value) {
	if normal != nil {
		m.value, v.changed = normal, true
	}
}

func (v *validation) missing(ms []member) {
	var names []string
	for _, p := range v.spec.Params {
		given := func(m member) bool { return m.name == p.Name && m.value != nil }
		if p.Required && !slices.ContainsFunc(ms, given) {
			names = append(names, quote(p.Name))
		}
	}
	if len(names) > 0 {
		v.mistakes = append(v.mistakes, "missing argument "+strings.Join(names, ", "))
		v.usage = true
	}
}

func (v *validation) err() error {
	if len(v.mistakes) == 0 {
		return nil
	}
	if n := len(v.mistakes) - maxMistakes; n > 0 {
		v.mistakes = append(v.mistakes[:maxMistakes], fmt.Sprintf("and %d more", n))
	}
	text := v.spec.Name + ": " + strings.Join(v.mistakes, "; ")
	if v.usage {
		text += "; it takes " + takes(v.spec)
	}
	return errors.New(text)
}

// takes lists the parameters of s.
func takes(s Spec) string {
	if len(s.Params) == 0 {
		return "no arguments"
	}
	names := make([]string, len(s.Params))
	for i, p := range s.Params {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

func checkKind(v jsontext.Value, want string, kinds ...jsontext.Kind) string {
	if slices.Contains(kinds, v.Kind()) {
		return ""
	}
	return want + ", not " + describe(v)
}

func checkString(p Param, v jsontext.Value) string {
	if why := checkKind(v, "a string", jsontext.KindString); why != "" {
		return why
	}
	switch {
	case p.NonEmpty && len(v) == len(`""`):
		return "at least one character long"
	case p.NoNUL && hasNUL(v):
		return "without a NUL character"
	case p.Enum == nil:
		return ""
	}
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return "a string: " + err.Error()
	}
	if slices.Contains(p.Enum, string(s)) {
		return ""
	}
	return "one of " + strings.Join(p.Enum, ", ") + ", not " + quote(string(s))
}

// hasNUL looks for the escape that JSON has for it, and then whether it is one.
func hasNUL(v jsontext.Value) bool {
	if !bytes.Contains(v, []byte(`\u0000`)) {
		return false
	}
	s, _ := jsontext.AppendUnquote(nil, v)
	return bytes.IndexByte(s, 0) >= 0
}

func checkNumber(p Param, v jsontext.Value) string {
	if why := checkKind(v, "a number", jsontext.KindNumber); why != "" {
		return why
	}
	switch n, err := strconv.ParseFloat(string(v), 64); {
	case err != nil:
		return "a number of 64 bits, not " + clip(string(v))
	case p.Above != nil && n <= *p.Above:
		return fmt.Sprintf("more than %v, not %s", *p.Above, clip(string(v)))
	case p.Below != nil && n >= *p.Below:
		return fmt.Sprintf("less than %v, not %s", *p.Below, clip(string(v)))
	}
	return ""
}

// maxNumber is the length of a number that is looked into. Whole numbers of 64 bits have 20
// characters; the rest is room for a fraction of zeros.
const maxNumber = 64

// integer checks a whole number. Its normal form is nil if v has it.
func integer(p Param, v jsontext.Value) (jsontext.Value, string) {
	if why := checkKind(v, "an integer", jsontext.KindNumber); why != "" {
		return nil, why
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	var normal jsontext.Value
	if err != nil {
		whole, ok := wholeNumber(string(v))
		if !ok {
			return nil, "an integer of 64 bits, not " + clip(string(v))
		}
		n, normal = whole, strconv.AppendInt(nil, whole, 10)
	}
	if p.Min != nil && n < *p.Min {
		return nil, fmt.Sprintf("at least %d, not %d", *p.Min, n)
	}
	return normal, ""
}

// wholeNumber reads a number such as 5.0 or 2e3 exactly. The exponent is bounded before the number
// is computed, for 1e999999999 would take all memory.
func wholeNumber(s string) (int64, bool) {
	if len(s) > maxNumber {
		return 0, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e < -maxNumber || e > maxNumber {
			return 0, false
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// stringList checks a list of strings. Its normal form is nil if v has it.
func stringList(v jsontext.Value) (jsontext.Value, string) {
	const want = "a string or a list of strings"
	switch v.Kind() {
	case jsontext.KindString:
		return slices.Concat(jsontext.Value("["), v, jsontext.Value("]")), ""
	case jsontext.KindBeginArray:
		return nil, checkItems(v, want)
	default:
		return nil, want + ", not " + describe(v)
	}
}

func checkItems(v jsontext.Value, want string) string {
	d := jsontext.NewDecoder(bytes.NewBuffer(v))
	if _, err := d.ReadToken(); err != nil {
		return want
	}
	for d.PeekKind() != jsontext.KindEndArray {
		item, err := d.ReadValue()
		if err != nil {
			return want
		}
		if item.Kind() != jsontext.KindString {
			return want + ", not a list with " + describe(item)
		}
	}
	return ""
}

// describe says what v is, without its content.
func describe(v jsontext.Value) string {
	switch v.Kind() {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "a boolean"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "the number " + clip(string(v))
	case jsontext.KindBeginArray:
		return "a list"
	default:
		return "an object"
	}
}

// clipPath shortens a path or pattern to what a message can hold.
func clipPath(s string) string { return oneLine(s, 200) }

// quote shows a name that came from a script.
func quote(s string) string { return "'" + clip(s) + "'" }

// clip shortens what came from a script to what a message can hold.
func clip(s string) string { return oneLine(s, 60) }
