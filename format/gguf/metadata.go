package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsontext"
	"github.com/weightmap/weightmap/internal/wire"
)

// Int64 and Float64 in a plan's metadata are written with these very types. Plain
// int64 and float64 values, as most formats have them, take the type that
// files usually have: see the package documentation.
type (
	Int64   int64
	Float64 float64
)

// neutral returns the metadata as all formats have them. A vocabulary takes longer to decode than
// all else of a file, so that is done on demand.
func (f *parsed) neutral() (driver.Metadata, error) { return f.metadata(entry.neutral, &jsonRoom) }

// metadata returns the entries of the model, with their values as value returns
// them, if the model may take the memory for that.
func (f *parsed) metadata(value func(entry) any, r *rooms) (driver.Metadata, error) {
	p := &f.parts[0]
	if p.count == 0 {
		return nil, nil
	}
	total := int64(0)
	for e := range entries(whole(p.meta)) {
		total += entrySize + int64(len(e.key)) + e.room(r)
	}
	if err := f.opts.Memory.Reserve(total); err != nil {
		return nil, wire.Error(formatName, "metadata", headerSize, err)
	}
	defer f.opts.Memory.Release(total)
	m := make(driver.Metadata, 0, p.count)
	for e := range entries(whole(p.meta)) {
		// A model that is whole does not say how many files it came in.
		if len(f.parts) == 1 || !isSplitKey(string(e.key)) {
			m = append(m, driver.Entry{Key: string(e.key), Value: value(e)})
		}
	}
	return m, nil
}

// entrySize is the memory of an entry besides its key and what is in its value.
const entrySize = 48

// rooms is the most memory that an element of an array takes, by its type; for strings and arrays
// besides what is in them.
type rooms struct {
	elems [numValueTypes]int64
	json  bool // strings are escaped
}

var (
	jsonRoom = rooms{[numValueTypes]int64{4, 5, 6, 7, 11, 12, 26, 6, 3, 3, 21, 21, 26}, true}
	goRoom   = rooms{[numValueTypes]int64{1, 1, 2, 2, 4, 4, 4, 1, 16, 40, 8, 8, 8}, false}
)

// room returns the memory for the value.
func (e entry) room(r *rooms) int64 { return r.next(whole(e.value), e.typ) }

// next returns the memory for what is in the next value.
func (r *rooms) next(d *decoder, t valueType) (n int64) {
	switch t {
	case typeString:
		return r.text(d.text(""))
	case typeArray:
		elem, count := d.list()
		for i := uint64(0); i < count && (elem == typeString || elem == typeArray); i++ {
			n += r.next(d, elem)
		}
		return n + int64(count)*r.elems[elem]
	}
	return 0
}

// text returns the memory for what is in a string.
func (r *rooms) text(b []byte) int64 {
	n := int64(len(b))
	if !r.json {
		return n
	}
	for _, c := range b {
		if c < ' ' {
			n += 5
		} else if c == '"' || c == '\\' {
			n++
		}
	}
	if !utf8.Valid(b) {
		n += 2 * int64(len(b))
	}
	return n
}

// neutral returns the value as all formats have it.
func (e entry) neutral() any {
	if e.typ == typeArray {
		return e.text(0)
	}
	return general(e.typed())
}

// text returns an array as JSON of about size bytes.
func (e entry) text(size int) json.RawMessage {
	w := jsontext.Writer{Replace: true, B: make([]byte, 0, size)}
	whole(e.value).json(&w, e.typ)
	return w.B
}

// general returns a value of a type of GGUF, other than an array, as one that all formats have.
func general(v any) any {
	switch v := v.(type) {
	case Int64:
		return int64(v)
	case Float64:
		return float64(v)
	}
	return driver.Number(v)
}

// json writes the next value.
func (d *decoder) json(w *jsontext.Writer, t valueType) {
	switch t {
	case typeString:
		w.Text(string(d.text("")))
	case typeArray:
		elem, n := d.list()
		w.Raw("[")
		for i := range n {
			if i > 0 {
				w.Raw(",")
			}
			d.json(w, elem)
		}
		w.Raw("]")
	default:
		w.Value(general(d.typed(t)))
	}
}

// typed returns the value with the type that it has in the file.
func (e entry) typed() any { return whole(e.value).typed(e.typ) }

// typed returns the next value.
func (d *decoder) typed(t valueType) any {
	switch t {
	case typeString:
		return string(d.text(""))
	case typeArray:
		return d.typedList()
	}
	le, b := binary.LittleEndian, d.take("", uint64(valueSizes[t]))
	switch t {
	case typeUint8:
		return b[0]
	case typeInt8:
		return int8(b[0])
	case typeUint16:
		return le.Uint16(b)
	case typeInt16:
		return int16(le.Uint16(b))
	case typeUint32:
		return le.Uint32(b)
	case typeInt32:
		return int32(le.Uint32(b))
	case typeFloat32:
		return math.Float32frombits(le.Uint32(b))
	case typeBool:
		return b[0] != 0
	case typeUint64:
		return le.Uint64(b)
	case typeInt64:
		return Int64(le.Uint64(b))
	}
	return Float64(math.Float64frombits(le.Uint64(b)))
}

// lists make slices of the fixed-size types.
var lists = [numValueTypes]func(n uint64) any{
	typeUint8: list[uint8], typeInt8: list[int8], typeUint16: list[uint16], typeInt16: list[int16], typeUint32: list[uint32], typeInt32: list[int32],
	typeFloat32: list[float32], typeBool: list[bool], typeUint64: list[uint64], typeInt64: list[int64], typeFloat64: list[float64],
}

func list[T any](n uint64) any { return make([]T, n) }

// typedList returns the next array as a slice of its elements' type.
func (d *decoder) typedList() any {
	elem, n := d.list()
	switch elem {
	case typeString:
		return d.texts(int(n))
	case typeArray:
		out := make([]any, n)
		for i := range out {
			out[i] = d.typedList()
		}
		return out
	}
	out := lists[elem](n)
	_, _ = binary.Decode(d.take("", n*uint64(valueSizes[elem])), binary.LittleEndian, out)
	return out
}

// texts returns n strings, which share one allocation.
func (d *decoder) texts(n int) []string {
	from := d.at
	d.strings(uint64(n))
	all, out := string(d.b[from:d.at]), make([]string, n)
	for i, at := 0, 0; i < n; i++ {
		at += minString
		size := int(binary.LittleEndian.Uint64(d.b[from+at-minString:]))
		out[i] = all[at : at+size]
		at += size
	}
	return out
}

// native returns the metadata of the model with the types that they have in the
// file. A copy within the format keeps these, and tensors of types that are not known.
func (f *parsed) native() (*driver.Native, error) {
	return &driver.Native{Format: formatName, Raw: f.parts[0].meta}, nil
}

// isCopy reports whether a plan is that of a file of this format.
func isCopy(p *driver.Plan) bool { return p.Native != nil && p.Native.Format == formatName }

// originals returns the entries of the file that is copied, by key.
func originals(p *driver.Plan) map[string]entry {
	if !isCopy(p) {
		return nil
	}
	all := make(map[string]entry, len(p.Metadata))
	d := whole(p.Native.Raw)
	for e := range entries(d) {
		if _, repeated := all[string(e.key)]; !repeated {
			all[string(e.key)] = e
		}
	}
	if d.err != nil {
		return nil // not made by this package
	}
	return all
}

// unchanged reports whether a value of a plan is what neutral returns, type and value. The zero entry
// is none.
func (e entry) unchanged(v any) bool {
	if e.key == nil {
		return false
	}
	switch v := v.(type) {
	case float64:
		x, ok := e.neutral().(float64)
		return ok && math.Float64bits(x) == math.Float64bits(v)
	case json.RawMessage:
		return e.typ == typeArray && bytes.Equal(e.text(len(v)), v)
	case bool, string, int64, json.Number:
		return e.typ != typeArray && e.neutral() == v
	}
	return false
}
