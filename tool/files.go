package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-exec/hermes-exec/backend"
)

const (
	// usual is how many file helpers one environment has as a rule, and keeps between calls. More
	// would only compete for its processors.
	usual = 4

	// maxHelpers is how many there are at most: calls that take long, such as a pattern that
	// backtracks without end, must not keep all others waiting.
	maxHelpers = DefaultParallel

	// helperWait is how long a call waits for one of the usual helpers before it gets another one. Most
	// calls are over long before.
	helperWait = 50 * time.Millisecond

	// fileLimit ends a call whose caller has more time than that: a pattern that backtracks without
	// end would use up the run otherwise, and the script would never learn why.
	fileLimit = 2 * time.Minute
)

// Files is the pool of file helpers of one environment: processes that read and search files where
// they lie, so that there is one implementation, one regular expression dialect, and only the lines
// asked for cross the wire. A helper is started when a call needs it, and a few are kept for the next
// calls; one whose call ran out of time is killed, which harms no other call. Files is safe for
// concurrent use.
type Files struct {
	b       backend.Backend
	environ map[string]string
	slots   chan struct{} // one for each of the usual helpers at work
	extra   chan struct{} // one for each of the others
	paths   pathLocks
	shells  shellProbe

	closing sync.Once
	ending  sync.WaitGroup // helpers on their way out

	mu     sync.Mutex
	closed bool
	idle   []*helper
	busy   map[*helper]bool
}

// NewFiles returns the pool for an environment; environ is what its helpers get. Nothing is started
// yet.
func NewFiles(b backend.Backend, environ map[string]string) *Files {
	return &Files{
		b:       b,
		environ: environ,
		slots:   make(chan struct{}, usual),
		extra:   make(chan struct{}, maxHelpers-usual),
		busy:    map[*helper]bool{},
	}
}

// Close ends the helpers and returns when they are gone. Calls under way fail, later ones answer
// net.ErrClosed. It is idempotent.
func (f *Files) Close() error {
	f.closing.Do(func() {
		f.mu.Lock()
		f.closed = true
		for _, h := range f.idle {
			f.ending.Go(h.close)
		}
		for h := range f.busy {
			f.ending.Go(h.kill)
		}
		f.idle = nil
		f.mu.Unlock()

		for _, slots := range []chan struct{}{f.slots, f.extra} { // no call is under way once all are ours
			for range cap(slots) {
				slots <- struct{}{}
			}
			defer func() {
				for range cap(slots) {
					<-slots
				}
			}()
		}
		f.ending.Wait()
	})
	return nil
}

// request is a line for a helper, see python/hermes/files.py.
type request struct {
	Op   string `json:"op"`
	Path string `json:"path"` // absolute
	Name string `json:"name"` // as the caller wrote it, for messages and results
	Dir  string `json:"dir"`  // the caller's directory

	New bool `json:"new"` // prepare: the file need not be there

	Source string `json:"source,omitempty"` // vacant: what is to be moved there, absolute

	Moves   [][2]place `json:"moves,omitempty"`   // rearrange: from, to
	Removes []place    `json:"removes,omitempty"` // rearrange
	ID      string     `json:"id,omitempty"`      // rearrange: it tells its files from those of others
	Missing bool       `json:"missing,omitempty"` // rearrange: what is to be removed need not be there
	Again   bool       `json:"again,omitempty"`   // the answer was lost: all of it may be done, or a part

	Content *string `json:"content,omitempty"` // write

	Offset int64 `json:"offset"`
	Limit  int64 `json:"limit"`

	Pattern    string  `json:"pattern"`
	Target     string  `json:"target"`
	FileGlob   *string `json:"file_glob"`
	OutputMode string  `json:"output_mode"`
	Context    int64   `json:"context"`
	Text       *string `json:"text"` // search this and not the file

	admit admission // of the answer
}

// place is a file as a helper finds it and as the caller calls it.
type place struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

// lostError is why an answer did not come: what was asked for may be done, or not.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// refusal is what a helper said about a request, as opposed to what broke the helper.
type refusal string

func (r refusal) Error() string { return string(r) }

// call has a helper answer a request. A helper that broke before it answered, for instance because a
// script ended it, is replaced once: all operations can be done again. An answer that stays out is a
// lostError.
func (f *Files) call(ctx context.Context, r request) (json.RawMessage, error) {
	line, err := encode(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Op, err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, fileLimit, fmt.Errorf("it took longer than %v", fileLimit))
	defer cancel()
	slot, err := f.acquire(limited)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Op, err)
	}
	defer func() { <-slot }()
	result, err := f.try(limited, line, r.admit)
	if errors.Is(err, errBroken) && limited.Err() == nil {
		result, err = f.tryAgain(limited, r, err)
	}
	if refused(err) || err == nil {
		return result, err
	}
	return nil, fmt.Errorf("%s: %w", r.Op, err)
}

// acquire takes a slot, which the caller reads to give it back.
func (f *Files) acquire(ctx context.Context) (<-chan struct{}, error) {
	select {
	case f.slots <- struct{}{}:
		return f.slots, nil
	default:
	}
	more := time.NewTimer(helperWait)
	defer more.Stop()
	var extra chan<- struct{}
	for {
		select {
		case f.slots <- struct{}{}:
			return f.slots, nil
		case extra <- struct{}{}:
			return f.extra, nil
		case <-more.C:
			extra = f.extra
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (f *Files) try(ctx context.Context, line []byte, admit admission) (json.RawMessage, error) {
	h, err := f.get(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := h.ask(ctx, line, admit)
	f.put(h, err == nil)
	if err != nil {
		return nil, lostError{err}
	}
	result, err := parseAnswer(answer)
	if err != nil && !refused(err) {
		return nil, lostError{err}
	}
	return result, err
}

// tryAgain is try after a helper broke. If nothing comes of it either, the first answer is still lost.
func (f *Files) tryAgain(ctx context.Context, r request, broken error) (json.RawMessage, error) {
	r.Again = true
	line, err := encode(r)
	if err != nil {
		return nil, lostError{errors.Join(broken, err)}
	}
	result, err := f.try(ctx, line, r.admit)
	if err != nil && !refused(err) {
		return nil, lostError{err}
	}
	return result, err
}

// refused tells whether a helper has answered, with an error.
func refused(err error) bool {
	said := refusal("")
	return errors.As(err, &said)
}

// get takes an idle helper or starts one.
func (f *Files) get(ctx context.Context) (*helper, error) {
	if h, err := f.takeIdle(); h != nil || err != nil {
		return h, err
	}
	h, err := startHelper(ctx, f.b, f.environ)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy[h] = true
	if f.closed { // meanwhile; ask will fail and put clears up
		f.ending.Go(h.kill)
	}
	return h, nil
}

func (f *Files) takeIdle() (*helper, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, net.ErrClosed
	}
	for n := len(f.idle); n > 0; n = len(f.idle) {
		h := f.idle[n-1]
		f.idle = f.idle[:n-1]
		if h.ended() {
			f.ending.Go(h.kill)
			continue
		}
		f.busy[h] = true
		return h, nil
	}
	return nil, nil
}

// put keeps a helper for the next call, or ends it.
func (f *Files) put(h *helper, keep bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.busy, h)
	switch {
	case !keep:
		f.ending.Go(h.kill)
	case f.closed, len(f.idle) >= usual:
		f.ending.Go(h.close)
	default:
		f.idle = append(f.idle, h)
	}
}

// prepared is what a helper found out about a file that is to be written.
type prepared struct {
	Path string      `json:"path"` // without symlinks
	Mode fs.FileMode `json:"mode"` // for a new file; 0 is that of the file that is there

	Written bool `json:"written"` // write: it is in place
}

// prepare checks that a file can be written, makes its parents, and locks it against other calls:
// two that patch one file at the same time must not undo each other. The caller unlocks.
func (f *Files) prepare(ctx context.Context, r request) (file prepared, unlock func(), err error) {
	r.Op = "prepare"
	if file, err = f.look(ctx, r); err != nil {
		return prepared{}, nil, err
	}
	unlock, err = f.paths.lock(ctx, file.Path)
	return file, unlock, err
}

// soleLimit is the longest content that a helper is given to write, in bytes. What is longer may go another
// way than through the agent.
const soleLimit = 1 << 20

// write has a helper prepare and write a file, which far away saves a round trip. It tells whether that is
// done: with another call at work on files nothing is locked so soon, and what has failed is to be tried, and
// told, as ever.
func (f *Files) write(ctx context.Context, r request, content string) (done bool, err error) {
	if f.b.Info().SameHost || len(content) > soleLimit {
		return false, nil
	}
	unlock, ok := f.paths.lockAll()
	if !ok {
		return false, nil
	}
	defer unlock()
	r.Op, r.Content = "write", &content
	file, err := f.look(ctx, r)
	return file.Written, err
}

// look asks about a file that is to be written.
func (f *Files) look(ctx context.Context, r request) (file prepared, err error) {
	answer, err := f.call(ctx, r)
	if err != nil {
		return prepared{}, err
	}
	if err := json.Unmarshal(answer, &file); err != nil {
		return prepared{}, fmt.Errorf("%s %s: %w", r.Op, r.Name, err)
	}
	file.Mode &= fs.ModePerm
	return file, nil
}

// parseAnswer splits an answer into a result and an error. The guest may write what it likes, so
// the result is checked before it is passed on as it is.
func parseAnswer(line []byte) (json.RawMessage, error) {
	kind, body := line[0], jsontext.Value(line[1:])
	switch {
	case kind == '+' && body.IsValid() && body.Kind() == '{':
		return json.RawMessage(body), nil
	case kind == '-' && body.IsValid() && body.Kind() == '"':
		text, err := jsontext.AppendUnquote(nil, body)
		if err == nil {
			return nil, refusal(text)
		}
	}
	return nil, fmt.Errorf("%w: it gave an answer that is none", errBroken)
}

// encode returns v as JSON on one line, as it is spliced into a reply: not escaped for HTML.
func encode(v any) (json.RawMessage, error) {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(text.String(), "\n")), nil
}
