package local

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"github.com/hermes-exec/hermes-exec/backend"
)

// Config says how to open the local environment. The zero value is project mode in the current
// directory with no environment variables, which finds no interpreter: Env is needed for its PATH.
type Config struct {
	Dir    string            // the working directory, absolute
	Env    map[string]string // the caller's environment variables
	Python string            // the interpreter to use; "" looks for one
	Strict bool              // ignore VIRTUAL_ENV and CONDA_PREFIX, work in the scratch
}

// ParseURL reads local:DIR?python=PATH&mode=strict. It is strict: what it does not know is an error.
func ParseURL(u *url.URL) (Config, error) {
	cfg := Config{Dir: u.Path}
	if u.Opaque != "" {
		dir, err := url.PathUnescape(u.Opaque)
		if err != nil {
			return Config{}, fmt.Errorf("backend URL %s: %w", u, err)
		}
		cfg.Dir = dir
	}
	if u.Host != "" || u.User != nil {
		return Config{}, fmt.Errorf("backend URL %s: local has no host", u.Redacted())
	}
	for key, values := range u.Query() {
		switch value := values[len(values)-1]; {
		case key == "python":
			cfg.Python = value
		case key == "mode" && (value == "strict" || value == "project"):
			cfg.Strict = value == "strict"
		default:
			return Config{}, fmt.Errorf("backend URL %s: unknown option %s=%s", u, key, value)
		}
	}
	return cfg, nil
}

// opener opens what URLs of the scheme local name, for a caller with that environment in that directory.
func opener[B backend.Backend](env map[string]string, dir string, open func(context.Context, Config) (B, error)) backend.Opener {
	return backend.OpenerOf(ParseURL, func(ctx context.Context, cfg Config) (B, error) {
		cfg.Env, cfg.Dir = env, cmp.Or(cfg.Dir, dir)
		return open(ctx, cfg)
	})
}
