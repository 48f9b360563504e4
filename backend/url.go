package backend

import (
	"context"
	"fmt"
	"net/url"
)

// OpenerOf is an Opener of what read finds in a URL. Options are those of a backend; open returns its own
// type.
func OpenerOf[Options any, B Backend](
	read func(*url.URL) (Options, error), open func(context.Context, Options) (B, error),
) Opener {
	return func(ctx context.Context, u *url.URL) (Backend, error) {
		options, err := read(u)
		if err != nil {
			return nil, err
		}
		b, err := open(ctx, options)
		if err != nil {
			return nil, err // not b: a nil pointer is no nil Backend
		}
		return b, nil
	}
}

// ReadQuery gives set each key of a URL with its values. Its error names the URL and what set refuses there.
func ReadQuery(u *url.URL, set func(key string, values []string) error) error {
	for key, values := range u.Query() {
		if err := set(key, values); err != nil {
			return fmt.Errorf("backend URL %s: %s=%s: %w", u.Redacted(), key, values[len(values)-1], err)
		}
	}
	return nil
}
