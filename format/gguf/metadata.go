package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsontext"
	"github.com/weightmap/weightmap/internal/memory"
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
func (f *parsed) neutral() (schema.Metadata, error) { return f.metadata((*decoder).neutral) }

// metadata returns the entries of the model, with their values as value returns
// them, if the model may take the memory for that.
func (f *parsed) metadata(value func(d *decoder, t valueType) any) (schema.Metadata, error) {
	p := &f.parts[0]
	if len(p.entries) == 0 {
		return nil, nil
	}
	room := entrySize*int64(len(p.entries)) + mostGrowth*(p.meta-headerSize)
	err := f.memory.Reserve(room)
	if err != nil {
		return nil, wire.Error(formatName, "metadata", headerSize, err)
	}
	defer f.memory.Release(room)
	m := make(schema.Metadata, 0, len(p.entries))
	for i := range p.entries {
		e := &p.entries[i]
		// The metadata of a whole model does not tell how it was split.
		if len(f.parts) > 1 && isSplitKey(e.key) {
			continue
		}
		v, err := f.decode(e, value)
		if err != nil {
			return nil, err
		}
		m = append(m, schema.Entry{Key: e.key, Value: v})
	}
	return m, nil
}

// decode returns the value of an entry of the model as value returns it. A large one is read again.
func (f *parsed) decode(e *entry, value func(d *decoder, t valueType) any) (any, error) {
	if e.value != nil {
		return value(whole(e.value), e.typ), nil
	}
	end := e.at + e.size
	head := driver.ReadAgain(f.parts[0].src, f.memory, e.at, end)
	d := &decoder{r: wire.HeadRecord(formatName, head, e.at, end), head: head}
	v := value(d, e.typ)
	closeErr := head.Close(end)
	if d.r.Err() != nil {
		return nil, named(d.r.Err(), "key", e.key)
	}
	return v, closeErr
}

// value implements driver.Parsed.LazyValue.
func (f *parsed) value(key string) (value any, ok bool, err error) {
	p := &f.parts[0]
	if len(f.parts) > 1 && isSplitKey(key) {
		return nil, false, nil
	}
	i := slices.IndexFunc(p.entries, func(e entry) bool { return e.key == key })
	if i < 0 {
		return nil, false, nil
	}
	e := &p.entries[i]
	room := entrySize + mostGrowth*e.size
	err = f.memory.Reserve(room)
	if err != nil {
		return nil, true, wire.Error(formatName, field, e.at, err)
	}
	defer f.memory.Release(room)
	value, err = f.decode(e, (*decoder).neutral)
	return value, true, err
}

// The maximum memory of values, typed or as JSON.
const (
	entrySize  = 48 // besides the key and the value
	mostGrowth = 6  // for each byte in the file, such as a bool or an escaped character
)

// neutral returns the value, which is all that is left, as all formats have it.
func (d *decoder) neutral(t valueType) any {
	if t != typeArray {
		return schema.Number(d.value(t))
	}
	w := jsontext.Writer{Replace: true}
	elem, n := d.list()
	size := d.r.Left() + minArray
	if elem == typeString { // the size if nothing is escaped
		const inFile, asJSON = 8, 3 // the length; quotes and a comma
		size = d.r.Left() - (inFile-asJSON)*int64(n) + 2
	}
	w.B = make([]byte, 0, size)
	d.jsonList(&w, elem, n)
	return json.RawMessage(w.B)
}

// jsonList writes the next n values, of an array. Each is needed once.
func (d *decoder) jsonList(w *jsontext.Writer, elem valueType, n uint64) {
	jsontext.List(w, make([]struct{}, n), func(struct{}) {
		d.json(w, elem)
		d.r.Discard()
	})
}

// json writes the next value.
func (d *decoder) json(w *jsontext.Writer, t valueType) {
	r := &d.r
	switch t {
	case typeString:
		w.Text(memory.String(d.text(field)))
	case typeArray:
		elem, n := d.list()
		d.jsonList(w, elem, n)
	case typeBool:
		w.Bool(r.U8(field) != 0)
	case typeUint8:
		w.Int(int64(r.U8(field)))
	case typeInt8:
		w.Int(int64(int8(r.U8(field))))
	case typeUint16:
		w.Int(int64(r.U16(field)))
	case typeInt16:
		w.Int(int64(int16(r.U16(field))))
	case typeUint32:
		w.Int(int64(r.U32(field)))
	case typeInt32:
		w.Int(int64(r.I32(field)))
	case typeUint64:
		w.Uint(r.U64(field))
	case typeInt64:
		w.Int(r.I64(field))
	case typeFloat32:
		w.Float(float64(math.Float32frombits(r.U32(field))), 64)
	case typeFloat64:
		w.Float(math.Float64frombits(r.U64(field)), 64)
	}
}

// typed returns the value, which is all that is left, with the type that it has in the file.
func (d *decoder) typed(t valueType) any {
	switch v := d.value(t).(type) {
	case int64:
		return Int64(v)
	case float64:
		return Float64(v)
	default:
		return v
	}
}

// value returns the value, which is all that is left, an array as a slice of its elements' type.
func (d *decoder) value(t valueType) any {
	switch t {
	case typeString:
		return string(d.text(field))
	case typeArray:
		elem, n := d.list()
		if elem == typeString {
			return d.strings(n, d.r.Left()-minString*int64(n))
		}
		return d.array(elem, n)
	}
	return fixed[t](d, 1, false)
}

// array returns the next n values.
func (d *decoder) array(elem valueType, n uint64) any {
	switch elem {
	case typeString:
		return d.strings(n, 0)
	case typeArray:
		lists := make([]any, n)
		for i := range lists {
			lists[i] = d.array(d.list())
		}
		return lists
	}
	return fixed[elem](d, n, true)
}

// fixed decode the next n values of the fixed-size types, by their type, to a slice or to one.
var fixed = [numValueTypes]func(d *decoder, n uint64, isList bool) any{
	typeUint8:   decode[uint8],
	typeInt8:    decode[int8],
	typeUint16:  decode[uint16],
	typeInt16:   decode[int16],
	typeUint32:  decode[uint32],
	typeInt32:   decode[int32],
	typeFloat32: decode[float32],
	typeBool:    decode[bool],
	typeUint64:  decode[uint64],
	typeInt64:   decode[int64],
	typeFloat64: decode[float64],
}

// decode decodes n values of the size of a T.
func decode[T any](d *decoder, n uint64, isList bool) any {
	list := make([]T, n)
	var one T
	size := uint64(binary.Size(one))
	for rest := list; len(rest) > 0; {
		step := rest[:min(len(rest), itemsStep)]
		_, _ = binary.Decode(d.r.Items(field, uint64(len(step)), size), binary.LittleEndian, step)
		d.r.Discard()
		rest = rest[len(step):]
	}
	if isList {
		return list
	}
	return list[0]
}

// strings returns n strings of size bytes, or of an unknown size if that is 0. They share memory:
// of a vocabulary, each would take 8 to 16 bytes more.
func (d *decoder) strings(n uint64, size int64) []string {
	var all strings.Builder
	all.Grow(int(size))
	list := make([]string, n)
	for i := range list {
		from := all.Len()
		all.Write(d.text(field))
		list[i] = all.String()[from:]
		d.r.Discard()
	}
	return list
}

// native returns the metadata of the model with the types that they have in the
// file. A copy within the format keeps these.
func (f *parsed) native() (*schema.Native, error) {
	p := &f.parts[0]
	n := p.meta - headerSize
	err := f.memory.Reserve(n)
	if err != nil {
		return nil, wire.Error(formatName, "metadata", headerSize, err)
	}
	defer f.memory.Release(n)
	raw := make([]byte, n)
	_, err = p.src.ReadAgain(raw, headerSize)
	if err != nil {
		return nil, wire.Place(err, formatName, "", "metadata")
	}
	return &schema.Native{Format: formatName, Raw: raw}, nil
}

// originals returns the entries of the file that is copied, by key.
func originals(p *schema.Schema) map[string]entry {
	if p.Native == nil || p.Native.Format != formatName {
		return nil
	}
	all := make(map[string]entry, len(p.Metadata))
	for e := range entries(p.Native.Raw) {
		_, repeated := all[e.key]
		if !repeated {
			all[e.key] = e
		}
	}
	return all
}

// unchanged reports whether a value of a schema is what neutral returns, type and value. The zero
// entry is none.
func (e entry) unchanged(v any) bool {
	if e.value == nil {
		return false
	}
	switch x := whole(e.value).neutral(e.typ).(type) {
	case float64:
		v, ok := v.(float64)
		return ok && math.Float64bits(x) == math.Float64bits(v)
	case json.RawMessage:
		v, ok := v.(json.RawMessage)
		return ok && bytes.Equal(x, v)
	default:
		return x == v
	}
}
