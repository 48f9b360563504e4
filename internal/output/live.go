package output

// masker masks secrets in a stream of bytes that comes in pieces.
type masker struct {
	secrets *Secrets

	// least is the length from which the beginning of a secret is held back until it is known how
	// it goes on. A shorter one passes at once, so that a text which happens to end like that is
	// not delayed; if it was a secret, the rest of it is masked.
	least int

	held  []byte // the end of the stream so far with which a secret may begin
	shown int    // how many bytes of held have been passed on
	buf   []byte
}

// next returns what p lets through. It may be p itself, and is good until the next call.
func (m *masker) next(p []byte) []byte {
	if len(m.held) > 0 {
		p = append(m.held, p...)
	}
	spans, hold := m.secrets.spans(p), len(p)-m.secrets.beginning(p)
	if m.shown == 0 && len(spans) == 0 && hold == len(p) {
		m.held = nil
		return p
	}
	at := m.shown // what is before has been passed on
	m.buf = trim(m.buf)
	for _, s := range spans {
		m.buf = append(append(m.buf, p[at:max(at, s.from)]...), mask...)
		at = s.to
	}
	until := hold
	if len(p)-hold < m.least {
		until = len(p)
	}
	if at < until {
		m.buf = append(m.buf, p[at:until]...)
		at = until
	}
	m.held = append([]byte(nil), p[hold:]...)
	m.shown = max(0, at-hold)
	return m.buf
}

// flush returns what was held back: no secret became of it.
func (m *masker) flush() []byte {
	rest := m.held[m.shown:]
	m.held, m.shown = nil, 0
	return rest
}

// cut is flush for a stream that is cut here: what may begin a secret is masked.
func (m *masker) cut() []byte {
	if rest := m.flush(); len(rest) < peek {
		return rest
	}
	return []byte(mask)
}

// trim empties a buffer, and lets go of one that a large piece has made large.
func trim(buf []byte) []byte {
	if cap(buf) > 256<<10 {
		return nil
	}
	return buf[:0]
}

// peek is how many bytes of a secret may be seen where it cannot be known yet that it is one. It is
// long enough for text not to end so by chance and less than half of the shortest secret.
const peek = 4

// Live turns one output stream, as it comes, into text for events: whole characters with secrets
// masked, as soon as they are known. It is not safe for concurrent use.
type Live struct {
	masker  masker
	decoder decoder
}

// NewLive returns a Live that masks s.
func NewLive(s *Secrets) *Live {
	return &Live{masker: masker{secrets: s, least: peek}}
}

// Next returns the text that is complete with p, which may be "".
func (l *Live) Next(p []byte) string { return string(l.decoder.next(l.masker.next(p))) }

// Flush returns the rest at the end of the stream.
func (l *Live) Flush() string {
	return string(l.decoder.next(l.masker.flush())) + string(l.decoder.flush())
}
