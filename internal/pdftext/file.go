package pdftext

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/ascii85"
	"io"
	"slices"
	"strconv"
)

// budget bounds the work on one document: bytes that are read as values, unpacked or interpreted, and
// characters that are mapped. Without one a small document could ask for years, each part of it
// referring to all others.
const budget = 48 << 20

// What costs more than to look at a byte.
const (
	readCost   = 6
	mapCost    = 8
	opCost     = 16
	filterCost = 1 << 10 // to make one
)

// file is a document. Its table of objects is not read: what it says may be anything. The objects are
// looked for instead, which takes one pass.
type file struct {
	data    []byte
	at      map[ref]int    // where the body of an object begins
	objects map[ref]object // those that were read
	packed  map[ref]any    // those that lie in streams
	left    int            // of the budget
	depth   int            // of objects that are read for the sake of others
	long    bool           // a page has more text than there may be
	deep    bool           // something was passed over for how deep it lies
	lost    damage
	trailer dict
}

// object is a value and, of a stream, its bytes as they lie in the file.
type object struct {
	value any
	raw   []byte
}

func open(data []byte, budget int) *file {
	f := &file{data: data, at: map[ref]int{}, objects: map[ref]object{}, packed: map[ref]any{}, left: budget, trailer: dict{}}
	f.scan()
	f.lost.early = f.endsEarly()
	f.trailers()
	f.unpack()
	return f
}

// scan finds "7 0 obj". Of two objects with one number the last counts, as in a file that was changed.
func (f *file) scan() {
	word := []byte("obj")
	for pos := 0; ; {
		i := bytes.Index(f.data[pos:], word)
		if i < 0 {
			return
		}
		start := pos + i
		pos = start + len(word)
		if n, ok := numberBefore(f.data[max(0, start-24):start]); ok {
			f.at[n] = pos
		}
	}
}

// numberBefore reads the number of an object from what stands before "obj".
func numberBefore(b []byte) (ref, bool) {
	fields := bytes.FieldsFunc(b, func(r rune) bool { return r < 128 && space(byte(r)) })
	if len(fields) < 2 || len(b) == 0 || !space(b[len(b)-1]) {
		return 0, false
	}
	if _, err := strconv.ParseUint(string(fields[len(fields)-1]), 10, 16); err != nil {
		return 0, false
	}
	digits := fields[len(fields)-2]
	n, err := strconv.ParseUint(string(digits[len(digits)-min(len(digits), 10):]), 10, 31)
	if err != nil { // what stands before may touch it, as in "endobj7 0 obj"
		n, err = strconv.ParseUint(string(bytes.TrimLeft(digits, "abcdefghijklmnopqrstuvwxyz")), 10, 31)
	}
	return ref(n), err == nil
}

// trailers joins what the trailers say, and the streams that stand for one. The last counts.
func (f *file) trailers() {
	for pos := 0; ; {
		i := bytes.Index(f.data[pos:], []byte("trailer"))
		if i < 0 {
			break
		}
		pos += i + len("trailer")
		if d, ok := f.read(&lexer{data: f.data, pos: pos, refs: true}).(dict); ok {
			f.adopt(d)
		}
	}
	for _, n := range f.numbers() {
		if d, ok := f.object(n).value.(dict); ok && d["Type"] == name("XRef") {
			f.adopt(d)
		}
	}
}

// spend takes from the budget. It returns false when nothing is left of it.
func (f *file) spend(n int) bool {
	f.left -= n
	return f.left > 0
}

// read reads one value, if the budget allows.
func (f *file) read(l *lexer) any {
	if f.left <= 0 {
		return nil
	}
	start := l.pos
	l.data = l.data[:min(len(l.data), start+f.left/readCost+1)]
	v, _ := l.value(0)
	f.spend(readCost * (l.pos - start))
	return v
}

func (f *file) adopt(d dict) {
	for _, k := range []name{"Root", "Info", "Encrypt"} {
		if v, ok := d[k]; ok {
			f.trailer[k] = v
		}
	}
}

// numbers are those of all objects.
func (f *file) numbers() []ref {
	all := make([]ref, 0, len(f.at)+len(f.packed))
	for n := range f.at {
		all = append(all, n)
	}
	for n := range f.packed {
		if _, ok := f.at[n]; !ok {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// object reads an object of the file itself.
func (f *file) object(n ref) object {
	if o, ok := f.objects[n]; ok {
		return o
	}
	at, ok := f.at[n]
	if !ok || f.depth > maxDepth {
		return object{value: f.packed[n]}
	}
	f.depth++
	defer func() { f.depth-- }()
	f.objects[n] = object{} // for one that refers to itself
	l := lexer{data: f.data, pos: at, refs: true}
	o := object{value: f.read(&l)}
	if d, ok := o.value.(dict); ok {
		end := l.pos
		l.skipSpace() // over a comment, in which there may be other objects
		f.spend(readCost * (l.pos - end))
		if bytes.HasPrefix(f.data[l.pos:], []byte("stream")) {
			o.raw = f.stream(n, l.pos+len("stream"), d)
		}
	}
	f.objects[n] = o
	return o
}

// stream finds the bytes of the stream of an object. Where its length is a lie they end at "endstream".
func (f *file) stream(of ref, at int, d dict) []byte {
	rest := f.data[at:]
	rest = bytes.TrimPrefix(rest, []byte("\r"))
	rest = bytes.TrimPrefix(rest, []byte("\n"))
	end := []byte("endstream")
	if n, ok := f.resolve(d["Length"]).(float64); ok && n >= 0 && n <= float64(len(rest)) {
		if bytes.HasPrefix(bytes.TrimLeft(rest[int(n):min(len(rest), int(n)+len(end)+4)], "\r\n \t"), end) {
			return rest[:int(n)]
		}
	}
	if f.left <= 0 {
		return nil
	}
	if i := bytes.Index(rest, end); i >= 0 {
		rest = rest[:i]
	} else {
		f.broke(of)
	}
	f.spend(len(rest))
	return rest
}

// resolve follows references.
func (f *file) resolve(v any) any {
	for range 8 {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		v = f.object(r).value
	}
	return nil
}

func (f *file) dict(v any) dict {
	d, _ := f.resolve(v).(dict)
	return d
}

func (f *file) array(v any) array {
	a, _ := f.resolve(v).(array)
	return a
}

// unpack reads the objects that lie in streams.
func (f *file) unpack() {
	for _, n := range f.numbers() {
		o := f.object(n)
		d, ok := o.value.(dict)
		if !ok || d["Type"] != name("ObjStm") {
			continue
		}
		data := f.decode(n, o)
		count, _ := f.resolve(d["N"]).(float64)
		start, _ := f.resolve(d["First"]).(float64)
		head := lexer{data: data}
		for i := 0; i < int(count); i++ {
			number, ok1 := f.read(&head).(float64)
			offset, ok2 := f.read(&head).(float64)
			at := start + offset
			if !ok1 || !ok2 || at < 0 || at >= float64(len(data)) {
				break
			}
			f.packed[ref(number)] = f.read(&lexer{data: data, pos: int(at), refs: true})
		}
	}
}

// content is the unpacked bytes of a stream that a value refers to, as far as it is there.
func (f *file) content(v any) []byte {
	r, ok := v.(ref)
	if !ok {
		return nil
	}
	o := f.object(r)
	if o.value == nil && f.lost.early { // of a document that is whole it is null, which is no content
		f.lost.broken = true
	}
	return f.decode(r, o)
}

// decode undoes the filters of the stream of an object. What uses others, such as a picture, is nothing here.
func (f *file) decode(of ref, o object) []byte {
	d, _ := o.value.(dict)
	filters := f.array(d["Filter"])
	if one, ok := f.resolve(d["Filter"]).(name); ok {
		filters = array{one}
	}
	if len(filters) > 4 {
		return nil
	}
	data := o.raw
	// Streams are decoded as often as they are referred to, and what comes out may be nothing.
	if !f.spend(len(data) + filterCost*len(filters)) {
		return nil
	}
	for _, filter := range filters {
		n, _ := f.resolve(filter).(name)
		var whole bool
		if data, whole = f.filter(n, data); !whole {
			f.broke(of)
		}
	}
	f.lost.broken = f.lost.broken || f.lost.partial[of]
	return data
}

// filter undoes one filter; whole is false where there is more than could be read.
func (f *file) filter(n name, data []byte) (out []byte, whole bool) {
	switch n {
	case "FlateDecode", "Fl":
		if len(bytes.TrimSpace(data)) == 0 {
			return nil, true
		}
		// The bytes are read without their checksum, which programs leave out and get wrong: readers do not mind.
		if _, err := zlib.NewReader(bytes.NewReader(data)); err != nil {
			return nil, false
		}
		return f.take(flate.NewReader(bytes.NewReader(data[2:])))
	case "ASCII85Decode", "A85":
		if i := bytes.Index(data, []byte("~>")); i >= 0 {
			data = data[:i]
		}
		return f.take(ascii85.NewDecoder(bytes.NewReader(data)))
	case "ASCIIHexDecode", "AHx":
		l := lexer{data: data}
		return []byte(l.hex()), true
	case "Crypt":
		return data, true
	}
	return nil, true
}

// take reads what the budget allows. A stream that is damaged is read up to there.
func (f *file) take(r io.Reader) (out []byte, whole bool) {
	out, err := io.ReadAll(io.LimitReader(r, int64(max(0, f.left))))
	f.spend(len(out))
	return out, err == nil
}
