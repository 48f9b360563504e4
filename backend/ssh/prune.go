package ssh

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hermes-exec/hermes-exec/backend"
	"github.com/hermes-exec/hermes-exec/internal/guest"
	"github.com/hermes-exec/hermes-exec/internal/keep"
	"github.com/hermes-exec/hermes-exec/internal/sshclient"
	"github.com/hermes-exec/hermes-exec/python"
)

// maxPruned bounds what a host may tell of that, in bytes.
const maxPruned = 16 << 20

// Pruner returns what removes the scratch directories of dead agents of this user from a host. That is
// decided there: only the host knows who lives. All removes too what does not say whose it is and was not
// touched for a day.
func Pruner(cfg Config, h Host, all bool) backend.Pruner {
	return func(ctx context.Context) ([]backend.Pruned, error) {
		seen, err := cfg.prune(ctx, h, all)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, wrap("prune "+cfg.Host, err)
		}
		for i := range seen {
			seen[i].Path = cfg.Host + ":" + seen[i].Path
		}
		return seen, nil
	}
}

// prune has the first interpreter do it that can.
func (c Config) prune(ctx context.Context, h Host, all bool) ([]backend.Pruned, error) {
	pool := h.Pool
	if pool == nil {
		pool = &sshclient.Pool{}
	}
	var tried []string
	for _, interpreter := range c.interpreters() {
		l, err := start(ctx, pool, c.options(h), interpreter, "")
		if err != nil {
			return nil, err
		}
		seen, err := l.prune(ctx, all)
		_ = l.Close()
		if err == nil || !unfit(err, l) {
			return seen, err
		}
		tried = append(tried, interpreter+": "+plainly(err))
	}
	return nil, c.noPython(tried)
}

// prune runs the code and reads what it tells, which follows a mark that nothing else prints.
func (l *link) prune(ctx context.Context, all bool) ([]backend.Pruned, error) {
	defer context.AfterFunc(ctx, func() { _ = l.Channel.Close() })()
	mark, everything := rand.Text(), "False"
	if all {
		everything = "True"
	}
	code := fmt.Appendf(python.Prune(), "\nmain('%s', %s)\n", mark, everything)
	if _, err := l.Write(guest.Alone(code)); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	out, err := io.ReadAll(io.LimitReader(l, maxPruned))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	_, told, found := strings.Cut(string(out), mark)
	if !found {
		return nil, fmt.Errorf("%w: %s", guest.ErrNoGreeting, keep.LastLine(string(out)+"\n"+l.said()))
	}
	var seen []backend.Pruned
	if err := json.NewDecoder(strings.NewReader(told)).Decode(&seen); err != nil {
		return nil, fmt.Errorf("what the host tells: %w", err)
	}
	return seen, nil
}
