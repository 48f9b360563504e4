package tool

import (
	"cmp"
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
		if at = len(p.lines); at > 0 && !h.last {
			p.notes = append(p.notes, fmt.Sprintf("the hunk on line %d of the patch names no place in the file, and was put at its end", h.line))
		}
	}
	if err != nil {
		return err
	}
	f, ok := newFit(before, p.lines, at)
	if !ok {
		return fmt.Errorf("it is on line %d of the file but for its indentation, and that is not clear", at+1)
	}
	added, err := f.lines(h.added())
	if err != nil {
		return fmt.Errorf("it is on line %d of the file, %v not counted, but %w", at+1, t, err)
	}
	if t != exactly {
		p.notes = append(p.notes, fmt.Sprintf("the hunk on line %d of the patch was found on line %d, %v not counted", h.line, at+1, t))
	}
	p.copy(at)
	from = p.out.Len()
	p.replace(h, added, f.end)
	if found := strings.Join(p.lines[at:p.done], ""); found != "" && ended(splitLines(found)) == ended(splitLines(p.out.String()[from:])) {
		return fmt.Errorf("nothing changes on line %d of the file, %v not counted", at+1, t)
	}
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
			return 0, p.noAnchor(ctx, anchor, from)
		}
		from = at + 1
	}
	return from, nil
}

// noAnchor says that the line of an anchor was not found, and what is there.
func (p *patcher) noAnchor(ctx context.Context, anchor string, from int) error {
	places, err := p.above(ctx, []string{anchor}, from)
	switch {
	case err != nil:
		return err
	case len(places) > 0:
		return fmt.Errorf("the line %q was not found%s but on %s: hunks are in the order of the file", clipPath(anchor), below(from), listed(numbers(places)))
	}
	return fmt.Errorf("the line %q was not found%s%s", clipPath(anchor), below(from), p.nearest(anchor+"\n", from))
}

// above returns where lines begin above one, as alike as any are.
func (p *patcher) above(ctx context.Context, part []string, from int) ([]int, error) {
	if from == 0 || strings.TrimSpace(strings.Join(part, "")) == "" {
		return nil, nil
	}
	for t := exactly; t <= spacing; t++ {
		lines := p.key(t)
		places, err := seek(ctx, lines[:min(from-1+len(part), len(lines))], t.keys(part), 0, maxListings+1)
		if err != nil || len(places) > 0 {
			return places, err
		}
	}
	return nil, nil
}

// nearest is what is like a text behind a line, or else above that.
func (p *patcher) nearest(wanted string, from int) string {
	if near := nearest(strings.Join(p.lines[from:], ""), from, wanted); near != "" || from == 0 {
		return near
	}
	return nearest(strings.Join(p.lines[:from], ""), 0, wanted)
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
		return 0, t, fmt.Errorf("its lines occur on %s: add more of what is around them, or a line @@ with one that stands before them", listed(numbers(places)))
	}
	return 0, exactly, p.missing(ctx, h, before, from)
}

// missing says that the lines of a hunk were not found, and what is there.
func (p *patcher) missing(ctx context.Context, h *hunk, before []string, from int) error {
	where := ""
	if h.last {
		where = " at the end of the file"
		places, err := seek(ctx, p.key(exactly), before, from, maxListings+1)
		if err != nil {
			return err
		}
		if len(places) > 0 {
			return fmt.Errorf("its lines were not found%s but on %s: leave out %q if that is meant", where, listed(numbers(places)), v4aLast)
		}
	}
	places, err := p.above(ctx, before, from)
	switch {
	case err != nil:
		return err
	case len(places) > 0:
		return fmt.Errorf("its lines were not found%s%s but on %s: hunks are in the order of the file, and below their lines @@", where, below(from), listed(numbers(places)))
	}
	return fmt.Errorf("its lines were not found%s%s%s", where, below(from), p.nearest(strings.Join(before, "\n")+"\n", from))
}

// numbers are those of lines, for people.
func numbers(places []int) []int {
	all := make([]int, len(places))
	for i, at := range places {
		all[i] = at + 1
	}
	return all
}

// copy takes over the lines up to one.
func (p *patcher) copy(to int) {
	for ; p.done < to; p.done++ {
		p.line(p.lines[p.done], "\n")
	}
}

// replace writes a hunk: its context as the file has it, and the lines that are added. Each of these ends as the
// line that it replaces, else as the one above, for a file may have both ends.
func (p *patcher) replace(h *hunk, added []string, end string) {
	above, removed := end, []string(nil)
	for _, l := range h.lines {
		if l.op != '+' {
			_, has := cutEnd(p.lines[p.done])
			above = cmp.Or(has, end)
		}
		switch l.op {
		case ' ':
			p.line(p.lines[p.done], end)
			p.done++
			removed = nil
		case '-':
			p.done++
			removed = append(removed, above)
		default:
			ends := above
			if len(removed) > 0 {
				ends, removed = removed[0], removed[1:]
			}
			p.line(added[0]+ends, ends)
			added = added[1:]
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
