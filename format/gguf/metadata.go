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

// Int64 and Float64 are metadata values that the writer stores as 64-bit numbers. It
// stores int64 and float64 values with the type that files usually have: see the package
// documentation.
type (
	Int64   int64
	Float64 float64
)

// neutral returns the metadata with the types common to all formats. It is called on demand since
// decoding a vocabulary takes longer than the rest of opening.
func (f *parsed) neutral() (driver.Metadata, error) { return f.metadata(entry.neutral) }

// metadata returns the entries of the model, with their values as value returns
// them, if the model may take the memory for that.
func (f *parsed) metadata(value func(entry) any) (driver.Metadata, error) {
	p := &f.parts[0]
	if p.count == 0 {
		return nil, nil
	}
	total := int64(0)
	for e := range entries(whole(p.meta)) {
		total += entrySize + int64(len(e.key)) + e.room()
	}
	if err := f.opts.Memory.Reserve(total); err != nil {
		return nil, wire.Error(formatName, "metadata", headerSize, err)
	}
	defer f.opts.Memory.Release(total)
	m := make(driver.Metadata, 0, p.count)
	for e := range entries(whole(p.meta)) {
		// The metadata of a whole model does not tell how it was split.
		if len(f.parts) == 1 || !isSplitKey(string(e.key)) {
			m = append(m, driver.Entry{Key: string(e.key), Value: value(e)})
		}
	}
	return m, nil
}

// The maximum memory of values, typed or as JSON.
const (
	entrySize  = 48 // besides the key and what is in the value
	arraySize  = 24 // besides the elements
	elemSize   = 16 // of strings and arrays besides what is in them
	numberRoom = 7  // for each byte in the file, as a bool in an array
)

// room returns the memory for the value at most.
func (e entry) room() int64 { return whole(e.value).room(e.typ) }

// room walks the next value.
func (d *decoder) room(t valueType) (n int64) {
	switch t {
	case typeString:
		b := d.text("")
		if !utf8.Valid(b) || bytes.ContainsFunc(b, func(c rune) bool { return c < ' ' }) {
			return 6 * int64(len(b)) // as escapes
		}
		return 2 * int64(len(b))
	case typeArray:
		elem, count := d.list()
		if elem != typeString && elem != typeArray {
			return arraySize + numberRoom*int64(len(d.take("", count*uint64(valueSizes[elem]))))
		}
		for range count {
			n += elemSize + d.room(elem)
		}
		return n + arraySize
	}
	return 0
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
	switch v := fixed[t](d.take("", uint64(valueSizes[t])), 0).(type) {
	case int64:
		return Int64(v)
	case float64:
		return Float64(v)
	default:
		return v
	}
}

// fixed decode values of the fixed-size types, by their type.
var fixed = [numValueTypes]func(b []byte, size int) any{
	typeUint8: decode[uint8], typeInt8: decode[int8], typeUint16: decode[uint16], typeInt16: decode[int16], typeUint32: decode[uint32], typeInt32: decode[int32],
	typeFloat32: decode[float32], typeBool: decode[bool], typeUint64: decode[uint64], typeInt64: decode[int64], typeFloat64: decode[float64],
}

// decode decodes one value, or a slice of those of size bytes if that is not 0.
func decode[T any](b []byte, size int) any {
	if size == 0 {
		var v T
		_, _ = binary.Decode(b, binary.LittleEndian, &v)
		return v
	}
	list := make([]T, len(b)/size)
	_, _ = binary.Decode(b, binary.LittleEndian, list)
	return list
}

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
	size := valueSizes[elem]
	return fixed[elem](d.take("", n*uint64(size)), size)
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
// file. A copy within the format keeps these.
func (f *parsed) native() (*driver.Native, error) {
	return &driver.Native{Format: formatName, Raw: f.parts[0].meta}, nil
}

// originals returns the entries of the file that is copied, by key.
func originals(p *driver.Plan) map[string]entry {
	if p.Native == nil || p.Native.Format != formatName {
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
