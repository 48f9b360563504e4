package hermes

import (
	"slices"
	"sync"

	"github.com/hermes-exec/hermes-exec/internal/output"
)

// kept are the files on the host that the tools of a run may read: those that its caller named, and
// those that the tools themselves have written because a text was too long for a result.
type kept struct {
	cache   *output.Cache // nil: nothing can be written
	limit   int64
	secrets *output.Secrets

	mu    sync.Mutex
	named []string
	own   []string
}

// has tells whether a file is one of them.
func (k *kept) has(path string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Contains(k.named, path) || slices.Contains(k.own, path)
}

// store writes a file.
func (k *kept) store(text string) (path string, cut bool, err error) {
	path, cut, err = k.cache.Store(text, k.limit, k.secrets)
	if err != nil {
		return "", false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Contains(k.own, path) {
		k.own = append(k.own, path)
	}
	return path, cut, nil
}

// written are the files that the tools have written.
func (k *kept) written() []string {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.own)
}
