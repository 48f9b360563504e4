package tool

import (
	"context"
	"fmt"
	"strings"
)

// patcher applies the hunks of one file to its text, from the top.
type patcher struct {
	lines []string
	keys  map[tolerance][]string // of lines, as far as they were asked for
	done  int                    // lines that are in out already
	out   strings.Builder
	open  bool // the last line in out has no end
	notes []string
}

// patchText applies hunks to a text. Notes say what was not there literally.
func patchText(ctx context.Context, text string, hunks []hunk) (after string, notes []string, err error) {
	if err := byLine("the file", text); err != nil {
		return "", nil, fmt.Errorf("%w: replace old_string by new_string there", err)
	}
	p := &patcher{lines: splitLines(text), keys: map[tolerance][]string{}}
	for i := range hunks {
		if err := p.apply(ctx, &hunks[i]); err != nil {
			return "", nil, fmt.Errorf("the hunk on line %d of the patch: %w", hunks[i].line, err)
		}
	}
	p.copy(len(p.lines))
	after = p.out.String()
	if text != "" && !strings.HasSuffix(text, "\n") { // as it was before
		after, _ = cutEnd(after)
	}
	return after, p.notes, nil
}

func (p *patcher) key(t tolerance) []string {
	if p.keys[t] == nil {
		lines := make([]string, len(p.lines))
		for i, line := range p.lines {
			lines[i], _ = cutEnd(line)
		}
		p.keys[t] = t.keys(lines)
	}
	return p.keys[t]
}

// apply finds one hunk and replaces it.
func (p *patcher) apply(ctx context.Context, h *hunk) error {
	from, err := p.behind(ctx, h.anchors)
	if err != nil {
		return err
	}
	before := h.before()
	at, t := from, exactly
	switch {
	case len(before) > 0:
		at, t, err = p.find(ctx, h, before, from)
	case len(h.anchors) == 0 || h.last:
		at = len(p.lines)
	}
	if err != nil {
		return err
	}
	f, ok := newFit(before, p.lines[at:at+len(before)])
	if !ok {
		return fmt.Errorf("it is on line %d of the file but for its indentation, and that is not clear", at+1)
	}
	if len(before) == 0 && len(p.lines) > 0 {
		if _, end := cutEnd(p.lines[0]); end != "" {
			f.end = end
		}
	}
	if t != exactly {
		p.notes = append(p.notes, fmt.Sprintf("the hunk on line %d of the patch was found on line %d, %v not counted", h.line, at+1, t))
	}
	p.copy(at)
	p.replace(h, f)
	return nil
}

// behind returns the line behind the anchors.
func (p *patcher) behind(ctx context.Context, anchors []string) (int, error) {
	from := p.done
	for _, anchor := range anchors {
		at := -1
		for t := exactly; t <= spacing && at < 0; t++ {
			places, err := seek(ctx, p.key(t), []string{t.key(anchor)}, from, 1)
			if err != nil {
				return 0, err
			}
			if len(places) > 0 {
				at = places[0]
			}
		}
		if at < 0 {
			return 0, fmt.Errorf("the line %q was not found%s", clipPath(anchor), below(from))
		}
		from = at + 1
	}
	return from, nil
}

// below says from where on was looked.
func below(from int) string {
	if from == 0 {
		return ""
	}
	return fmt.Sprintf(" below line %d", from)
}

// find returns where the lines stand: behind anchors the first place, else the only one.
func (p *patcher) find(ctx context.Context, h *hunk, before []string, from int) (int, tolerance, error) {
	first, limit := from, maxListings+1
	if h.last {
		first, limit = max(from, len(p.lines)-len(before)), 1
	}
	for t := exactly; t <= spacing; t++ {
		if t != exactly && strings.TrimSpace(strings.Join(before, "")) == "" {
			break
		}
		places, err := seek(ctx, p.key(t), t.keys(before), first, limit)
		switch {
		case err != nil:
			return 0, t, err
		case len(places) == 0:
			continue
		case len(places) == 1 || len(h.anchors) > 0:
			return places[0], t, nil
		}
		numbers := make([]int, len(places))
		for i, at := range places {
			numbers[i] = at + 1
		}
		return 0, t, fmt.Errorf("its lines occur on %s: add more of what is around them, or a line @@ with one that stands before them", listed(numbers))
	}
	where := ""
	if h.last {
		where = " at the end of the file"
	}
	rest := strings.Join(p.lines[from:], "")
	return 0, exactly, fmt.Errorf("its lines were not found%s%s%s", where, below(from), nearest(rest, from, strings.Join(before, "\n")+"\n"))
}

// copy takes over the lines up to one.
func (p *patcher) copy(to int) {
	for ; p.done < to; p.done++ {
		p.line(p.lines[p.done], "\n")
	}
}

// replace writes a hunk: its context as the file has it.
func (p *patcher) replace(h *hunk, f *fit) {
	for _, l := range h.lines {
		switch l.op {
		case ' ':
			p.line(p.lines[p.done], f.end)
			p.done++
		case '-':
			p.done++
		default:
			p.line(f.line(l.text)+f.end, f.end)
		}
	}
}

// line writes one, behind the end that the one before lacked.
func (p *patcher) line(line, end string) {
	if p.open {
		p.out.WriteString(end)
	}
	p.out.WriteString(line)
	p.open = !strings.HasSuffix(line, "\n")
}
