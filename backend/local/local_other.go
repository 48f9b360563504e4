//go:build !unix

// Package local is the environment that hermes-exec itself runs in.
package local

import (
	"context"
	"errors"
	"net/url"

	"github.com/hermes-exec/hermes-exec/backend"
)

// Opener returns an Opener that reports errors.ErrUnsupported.
func Opener(map[string]string, string) backend.Opener {
	return func(context.Context, *url.URL) (backend.Backend, error) {
		return nil, &backend.Error{Backend: "local", Op: "open", Err: errors.ErrUnsupported}
	}
}
