package backend_test

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/hermes-exec/hermes-exec/backend"
)

// opened is a backend that does nothing.
type opened struct{ backend.Backend }

// An Opener that fails returns no Backend: a nil pointer in one would not be nil.
func TestOpenerOf(t *testing.T) {
	unread, unopened := errors.New("unread"), errors.New("unopened")
	for _, c := range []struct{ unread, unopened, want error }{{nil, nil, nil}, {unread, nil, unread}, {nil, unopened, unopened}} {
		open := backend.OpenerOf(
			func(u *url.URL) (string, error) { return u.Opaque, c.unread },
			func(_ context.Context, name string) (*opened, error) {
				if c.unopened != nil || name != "x" {
					return nil, c.unopened
				}
				return &opened{}, nil
			},
		)
		b, err := open(t.Context(), &url.URL{Opaque: "x"})
		if !errors.Is(err, c.want) || (b == nil) != (c.want != nil) {
			t.Errorf("%v, %v; want %v", b, err, c.want)
		}
	}
}

func TestReadQuery(t *testing.T) {
	u, err := url.Parse("docker:x?a=1&b=2&b=3")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	if err := backend.ReadQuery(u, func(key string, values []string) error { got[key] = values; return nil }); err != nil ||
		len(got) != 2 || len(got["b"]) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	err = backend.ReadQuery(u, func(key string, _ []string) error {
		if key == "b" {
			return errors.New("no")
		}
		return nil
	})
	if err == nil || err.Error() != "backend URL docker:x?a=1&b=2&b=3: b=3: no" {
		t.Errorf("%v", err)
	}
}
