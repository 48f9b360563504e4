package pdftext

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// maxForms is how many forms may be painted by each other.
const maxForms = 30

// writer follows what a page paints and writes down its text.
type writer struct {
	*file
	fonts map[any]*font
	forms []ref // those that are being run, one painted by the other

	out        strings.Builder
	font       *font
	size       float64
	leading    float64
	lineX      float64 // where the line began
	lineY      float64
	scale      float64 // of the text matrix
	x, y       float64
	endX, endY float64 // where the last text ended
	written    bool
}

// run interprets a content stream.
func (w *writer) run(content []byte, resources dict) {
	if !w.spend(len(content) + 1) {
		return
	}
	l := lexer{data: content}
	w.scale = 1
	var args array
	for w.out.Len() < maxText && w.left > 0 {
		v, ok := l.value(0)
		if !ok {
			return
		}
		op, isOp := v.(keyword)
		switch {
		case !isOp:
			if len(args) < 64 {
				args = append(args, v)
			}
			continue
		case op == "ID":
			skipImage(&l)
		case op == "Do":
			w.form(args, resources)
		case op == "Tf":
			w.setFont(args, resources)
		default:
			w.operator(op, args)
		}
		args = args[:0]
		w.spend(opCost)
	}
}

// skipImage passes over the bytes of a picture within the stream. It looks at each once.
func skipImage(l *lexer) {
	end := []byte("EI")
	for {
		i := bytes.Index(l.data[l.pos:], end)
		if i < 0 {
			l.pos = len(l.data)
			return
		}
		l.pos += i + len(end)
		if before := l.pos - len(end) - 1; before >= 0 && bytes.IndexByte([]byte("\n \r"), l.data[before]) >= 0 {
			return
		}
	}
}

// form runs a stream that pages share.
func (w *writer) form(args array, resources dict) {
	if len(args) == 0 {
		return
	}
	n, _ := args[0].(name)
	v := w.dict(resources["XObject"])[n]
	d := w.dict(v)
	if d["Subtype"] != name("Form") {
		return
	}
	if own := w.dict(d["Resources"]); own != nil {
		resources = own
	}
	r, ok := v.(ref)
	switch {
	case !ok, slices.Contains(w.forms, r): // one that paints itself has nothing new to say
		return
	case len(w.forms) == maxForms:
		w.deep = true
		return
	}
	w.forms = append(w.forms, r)
	w.run(w.content(v), resources)
	w.forms = w.forms[:len(w.forms)-1]
}

func (w *writer) setFont(args array, resources dict) {
	if len(args) < 2 {
		return
	}
	n, _ := args[0].(name)
	w.size, _ = args[1].(float64)
	v := w.dict(resources["Font"])[n]
	key := any(n)
	if r, ok := v.(ref); ok {
		key = r
	} else {
		delete(w.fonts, key) // it is this page's own
	}
	if w.fonts[key] == nil {
		w.fonts[key] = w.readFont(w.dict(v))
	}
	w.font = w.fonts[key]
}

// number is an argument; one that is not there is 0.
func number(args array, i int) float64 {
	if i >= len(args) {
		return 0
	}
	n, _ := args[i].(float64)
	return n
}

func (w *writer) operator(op keyword, args array) {
	switch op {
	case "BT":
		w.lineX, w.lineY, w.x, w.y, w.scale = 0, 0, 0, 0, 1
	case "TL":
		w.leading = number(args, 0)
	case "Td":
		w.move(number(args, 0), number(args, 1))
	case "TD":
		w.leading = -number(args, 1)
		w.move(number(args, 0), number(args, 1))
	case "Tm":
		w.scale = math.Hypot(number(args, 0), number(args, 1))
		w.lineX, w.lineY = number(args, 4), number(args, 5)
		w.x, w.y = w.lineX, w.lineY
	case "T*":
		w.move(0, -w.leading)
	case "Tj":
		w.show(args)
	case "'", "\"":
		w.move(0, -w.leading)
		w.show(args[max(0, len(args)-1):])
	case "TJ":
		if len(args) > 0 {
			list, _ := args[0].(array)
			w.show(list)
		}
	}
}

// move goes to another line.
func (w *writer) move(dx, dy float64) {
	w.lineX += dx * w.scale
	w.lineY += dy * w.scale
	w.x, w.y = w.lineX, w.lineY
}

// show writes strings; numbers between them move by thousandths of the size.
func (w *writer) show(list array) {
	em := w.size * w.scale
	for _, v := range list {
		switch v := v.(type) {
		case float64:
			w.x -= v / 1000 * em
		case text:
			if w.font == nil {
				w.font = w.readFont(nil)
			}
			s, width := w.font.decode(v, maxText-w.out.Len())
			w.spend(len(s)) // a code may mean much
			w.gap(s, math.Abs(em))
			w.out.WriteString(s)
			w.x += width / 1000 * em
			w.endX, w.endY, w.written = w.x, w.y, true
		}
	}
}

// gap writes what stands between the last text and the next.
func (w *writer) gap(next string, em float64) {
	if !w.written || em == 0 {
		return
	}
	switch down := math.Abs(w.endY - w.y); {
	case down > 1.9*em:
		w.out.WriteString("\n\n")
	case down > 0.4*em:
		w.out.WriteByte('\n')
	case (w.x-w.endX > 0.15*em || w.x < w.endX-2*em) && !strings.HasPrefix(next, " "):
		w.out.WriteByte(' ')
	}
}

// text is what was written, its white space made that of lines.
func (w *writer) text() string {
	var b strings.Builder
	empty := 0
	for line := range strings.Lines(strings.ToValidUTF8(strings.ReplaceAll(w.out.String(), "\x00", ""), "\uFFFD")) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			empty++
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
			if empty > 0 {
				b.WriteString("\n")
			}
		}
		b.WriteString(line)
		empty = 0
	}
	return b.String()
}
