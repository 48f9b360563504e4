package transport

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// line replaces TOKEN in a request by the token of w.
func line(w *Wire, s string) []byte {
	return []byte(strings.ReplaceAll(s, "TOKEN", w.Token()))
}

func TestCheckAccepts(t *testing.T) {
	w := NewWire(Options{})
	for name, tc := range map[string]struct {
		line, id, tool, args, dir string
	}{
		"our own order":  {`{"token":"TOKEN","id":7,"tool":"t","args":{"a":1}}`, `7`, "t", `{"a":1}`, ""},
		"another order":  {`{"args":{},"tool":"t","id":"x","token":"TOKEN"}`, `"x"`, "t", `{}`, ""},
		"with spaces":    {` { "token" : "TOKEN" , "tool" : "t" , "args" : { "a" : [ 1 ] } } `, ``, "t", `{ "a" : [ 1 ] }`, ""},
		"cwd":            {`{"token":"TOKEN","cwd":"/ö\u00e4","tool":"t","args":{}}`, ``, "t", `{}`, "/öä"},
		"unknown fields": {`{"token":"TOKEN","new":[{"x":null}],"tool":"t","args":{},"id":1e3}`, `1e3`, "t", `{}`, ""},
		"escaped names":  {`{"t\u006fken":"TOKEN","tool":"t","args":{}}`, ``, "t", `{}`, ""},
		"null id":        {`{"token":"TOKEN","id":null,"tool":"t","args":{}}`, ``, "t", `{}`, ""},
		"big integer":    {`{"token":"TOKEN","tool":"t","args":{"n":123456789012345678901234567890}}`, ``, "t", `{"n":123456789012345678901234567890}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.Check(line(w, tc.line))
			if r.refused != nil {
				t.Fatalf("refused: %v", r.refused)
			}
			if string(r.id) != tc.id || r.call.Tool != tc.tool || string(r.call.Args) != tc.args || r.call.Dir != tc.dir {
				t.Errorf("got id %s, call %+v", r.id, r.call)
			}
		})
	}
}

// TestCheckRefuses covers B086 and PARITY 36: malformed and unauthorized requests.
func TestCheckRefuses(t *testing.T) {
	w := NewWire(Options{MaxLine: 10_000})
	pad := strings.Repeat("x", 5000)
	for name, tc := range map[string]struct{ line, id, reason string }{
		"no JSON":           {`hello`, ``, "Unauthorized RPC request"},
		"list":              {`["TOKEN"]`, ``, "Unauthorized RPC request"},
		"no token":          {`{"id":1,"tool":"t","args":{}}`, `1`, "Unauthorized RPC request"},
		"wrong token":       {`{"id":1,"token":"no","tool":"t","args":{}}`, `1`, "Unauthorized RPC request"},
		"token no string":   {`{"token":1,"tool":"t","args":{}}`, ``, "Unauthorized RPC request"},
		"token too late":    {`{"args":{"a":"` + pad + `"},"token":"TOKEN","tool":"t"}`, ``, "Unauthorized RPC request"},
		"token before size": {`{"args":{"a":"` + strings.Repeat(pad, 3) + `"}}`, ``, "Unauthorized RPC request"},
		"too long":          {`{"token":"TOKEN","id":9,"args":{"a":"` + strings.Repeat(pad, 3) + `"},"tool":"t"}`, `9`, "the request is longer than 10000 bytes"},
		"cut":               {`{"token":"TOKEN","id":2,"tool":"t","args":{`, `2`, "not valid JSON at byte"},
		"two values":        {`{"token":"TOKEN","tool":"t","args":{}} {}`, ``, "more than one JSON value"},
		"args a list":       {`{"token":"TOKEN","args":[1,2],"tool":"t","id":3}`, `3`, "args must be an object"},
		"args a string":     {`{"token":"TOKEN","args":"x","tool":"t"}`, ``, "args must be an object"},
		"args null":         {`{"token":"TOKEN","args":null,"tool":"t"}`, ``, "args must be an object"},
		"args missing":      {`{"token":"TOKEN","tool":"t"}`, ``, "args is missing"},
		"tool missing":      {`{"token":"TOKEN","args":{}}`, ``, "tool is missing"},
		"tool no string":    {`{"token":"TOKEN","tool":5,"args":{}}`, ``, "tool must be a string"},
		"cwd no string":     {`{"token":"TOKEN","tool":"t","args":{},"cwd":[]}`, ``, "cwd must be a string"},
		"id an object":      {`{"token":"TOKEN","tool":"t","args":{},"id":{}}`, ``, "id must be a number or a string"},
		"id too long":       {`{"token":"TOKEN","tool":"t","args":{},"id":"` + pad + `"}`, ``, "id must be a number or a string"},
		"lone surrogate":    {`{"token":"TOKEN","tool":"t","args":{"a":"\ud800"}}`, ``, "not valid JSON at byte"},
		"invalid UTF-8":     {"{\"token\":\"TOKEN\",\"tool\":\"t\",\"args\":{\"a\":\"\xff\"}}", ``, "not valid JSON at byte"},
		"NaN":               {`{"token":"TOKEN","tool":"t","args":{"a":NaN}}`, ``, "not valid JSON at byte"},
		"double name":       {`{"token":"TOKEN","tool":"t","args":{"a":1,"a":2}}`, ``, "a name stands twice"},
		"double token":      {`{"token":"TOKEN","token":"x","tool":"t","args":{}}`, ``, "a name stands twice"},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.Check(line(w, tc.line))
			if r.refused == nil {
				t.Fatal("accepted")
			}
			got := r.refused.Error()
			if !strings.Contains(got, tc.reason) || string(r.id) != tc.id {
				t.Errorf("got id %q, reason %q", r.id, got)
			}
			want := (*InvalidError)(nil)
			if errors.Is(r.refused, ErrUnauthorized) == errors.As(r.refused, &want) {
				t.Errorf("%T is of no known kind", r.refused)
			}
		})
	}
}

func TestDoubleTokenNeverAuthorizesAStranger(t *testing.T) {
	w := NewWire(Options{})
	r := w.Check([]byte(`{"token":"` + strings.Repeat("0", 64) + `","tool":"t","args":{}}`))
	if !errors.Is(r.refused, ErrUnauthorized) {
		t.Errorf("refused: %v", r.refused)
	}
}

func TestTokensDiffer(t *testing.T) {
	a, b := NewWire(Options{}).Token(), NewWire(Options{}).Token()
	if a == b || len(a) != 64 {
		t.Errorf("tokens %q and %q", a, b)
	}
}

// FuzzCheck looks for panics, for a call from a line without the token, and for arguments that are
// not one JSON object.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"token":"TOKEN","id":7,"tool":"t","args":{"a":1}}`, `{"args":{},"token":"TOKEN","tool":"\u0074"}`,
		`{"token":"TOKEN","tool":"t","args":{}}{`, `[`, `{"token":"TOKE`, "{\"token\":\"TOKEN\",\"cwd\":\"\xff\"}",
	} {
		f.Add(s)
	}
	w := NewWire(Options{MaxLine: 1 << 20})
	f.Fuzz(func(t *testing.T, s string) {
		in := line(w, s)
		r := w.Check(bytes.Clone(in))
		if r.refused != nil {
			return
		}
		if !bytes.Contains(in, []byte(w.Token()[:1])) || r.call.Tool == "" {
			t.Fatalf("accepted %q", in)
		}
		args := jsontext.Value(r.call.Args)
		if !args.IsValid() || args.Kind() != '{' {
			t.Fatalf("args %q", r.call.Args)
		}
		if r.id != nil && !r.id.IsValid() {
			t.Fatalf("id %q", r.id)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	w := NewWire(Options{})
	for name, n := range map[string]int{"100B": 10, "10KB": 10_000, "1MB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			in := line(w, `{"token":"TOKEN","id":7,"tool":"t","cwd":"/x","args":{"a":"`+strings.Repeat("x", n)+`"}}`)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if w.Check(in).refused != nil {
					b.Fatal("refused")
				}
			}
		})
	}
}
