package hermes

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/hermes-exec/hermes-exec/internal/output"
)

// kept are the files on the host that the tools of a run may read: those that its caller named, and
// those that the tools themselves have written because a text was too long for a result.
type kept struct {
	cache   *output.Cache // nil: nothing can be written
	limit   int64         // bytes of a file; that of all is keptFiles times as much
	secrets *output.Secrets

	mu    sync.Mutex
	named []string
	own   []string
	texts map[[sha256.Size]byte]bool // those that were counted: one that comes again takes no more room
	bytes int64
}

// keptFiles is how many files of full length the tools of a run may write.
const keptFiles = 10

// has tells whether a file is one of them.
func (k *kept) has(path string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Contains(k.named, path) || slices.Contains(k.own, path)
}

// store writes a file, if there is room.
func (k *kept) store(text string) (path string, cut bool, err error) {
	if err := k.take(text); err != nil {
		return "", false, err
	}
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

// take takes the room of a text.
func (k *kept) take(text string) error {
	sum := sha256.Sum256([]byte(text))
	k.mu.Lock()
	defer k.mu.Unlock()
	size := min(int64(len(text)), k.limit)
	switch most := keptFiles * k.limit; {
	case k.texts[sum]:
		return nil
	case k.bytes+size > most:
		return fmt.Errorf("the files of one run have at most %d bytes in all", most)
	}
	if k.texts == nil {
		k.texts = map[[sha256.Size]byte]bool{}
	}
	k.texts[sum] = true
	k.bytes += size
	return nil
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
