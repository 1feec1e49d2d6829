package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"

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
func (f *parsed) neutral() (schema.Metadata, error) { return f.metadata(entry.neutral) }

// metadata returns the entries of the model, with their values as value returns
// them, if the model may take the memory for that.
func (f *parsed) metadata(value func(entry) any) (schema.Metadata, error) {
	p := &f.parts[0]
	if p.count == 0 {
		return nil, nil
	}
	room := entrySize*int64(p.count) + mostGrowth*int64(len(p.meta))
	err := f.memory.Reserve(room)
	if err != nil {
		return nil, wire.Error(formatName, "metadata", headerSize, err)
	}
	defer f.memory.Release(room)
	m := make(schema.Metadata, 0, p.count)
	for e := range entries(p.meta) {
		// The metadata of a whole model does not tell how it was split.
		if len(f.parts) == 1 || !isSplitKey(string(e.key)) {
			m = append(m, schema.Entry{Key: string(e.key), Value: value(e)})
		}
	}
	return m, nil
}

// value implements driver.Parsed.LazyValue.
func (f *parsed) value(key string) (value any, ok bool, err error) {
	p := &f.parts[0]
	if len(f.parts) > 1 && isSplitKey(key) {
		return nil, false, nil
	}
	for _, at := range p.at {
		n := binary.LittleEndian.Uint64(p.meta[at:]) // Parse has compared it with what is left
		if string(p.meta[at+8:][:n]) != key {
			continue
		}
		e := whole(p.meta[at:]).entry()
		room := entrySize + mostGrowth*int64(len(e.value))
		err = f.memory.Reserve(room)
		if err != nil {
			return nil, true, wire.Error(formatName, "metadata", headerSize+int64(at), err)
		}
		defer f.memory.Release(room)
		return e.neutral(), true, nil
	}
	return nil, false, nil
}

// The maximum memory of values, typed or as JSON.
const (
	entrySize  = 48 // besides the key and the value
	mostGrowth = 6  // for each byte in the file, such as a bool or an escaped character
)

// neutral returns the value as all formats have it.
func (e entry) neutral() any {
	d := whole(e.value)
	if e.typ != typeArray {
		return schema.Number(d.value(e.typ))
	}
	w := jsontext.Writer{Replace: true, B: make([]byte, 0, whole(e.value).jsonSize())}
	d.json(&w, e.typ)
	return json.RawMessage(w.B)
}

// jsonSize returns the size of an array of strings as JSON if nothing in it is escaped. Of any
// other array it returns the size in the file.
func (d *decoder) jsonSize() int64 {
	const inFile, asJSON = 8, 3 // the length; quotes and a comma
	size := d.r.Left()
	elem, n := d.list()
	if elem == typeString {
		size = d.r.Left() - (inFile-asJSON)*int64(n) + 2
	}
	return size
}

// json writes the next value.
func (d *decoder) json(w *jsontext.Writer, t valueType) {
	r := &d.r
	switch t {
	case typeString:
		w.Text(memory.String(d.text("")))
	case typeArray:
		elem, n := d.list()
		jsontext.List(w, make([]struct{}, n), func(struct{}) { d.json(w, elem) })
	case typeBool:
		w.Bool(r.U8("") != 0)
	case typeUint8:
		w.Int(int64(r.U8("")))
	case typeInt8:
		w.Int(int64(int8(r.U8(""))))
	case typeUint16:
		w.Int(int64(r.U16("")))
	case typeInt16:
		w.Int(int64(int16(r.U16(""))))
	case typeUint32:
		w.Int(int64(r.U32("")))
	case typeInt32:
		w.Int(int64(r.I32("")))
	case typeUint64:
		w.Uint(r.U64(""))
	case typeInt64:
		w.Int(r.I64(""))
	case typeFloat32:
		w.Float(float64(math.Float32frombits(r.U32(""))), 64)
	case typeFloat64:
		w.Float(math.Float64frombits(r.U64("")), 64)
	}
}

// typed returns the value with the type that it has in the file.
func (e entry) typed() any {
	switch v := whole(e.value).value(e.typ).(type) {
	case int64:
		return Int64(v)
	case float64:
		return Float64(v)
	default:
		return v
	}
}

// value returns the next value, an array as a slice of its elements' type.
func (d *decoder) value(t valueType) any {
	switch t {
	case typeString:
		return string(d.text(""))
	case typeArray:
		return d.array()
	}
	return fixed[t](d.r.Bytes("", valueSizes[t]), 0)
}

func (d *decoder) array() any {
	elem, n := d.list()
	switch elem {
	case typeString:
		return d.strings(n)
	case typeArray:
		lists := make([]any, n)
		for i := range lists {
			lists[i] = d.array()
		}
		return lists
	}
	size := valueSizes[elem]
	return fixed[elem](d.r.Items("", n, size), int(size))
}

// fixed decode values of the fixed-size types, by their type.
var fixed = [numValueTypes]func(b []byte, size int) any{
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

// strings returns n strings, which share memory: of a vocabulary, each would take 8 to 16 bytes
// more.
func (d *decoder) strings(n uint64) []string {
	ahead := *d
	size := 0
	for range n {
		size += len(ahead.text(""))
	}
	var all strings.Builder
	all.Grow(size)
	list := make([]string, n)
	for i := range list {
		from := all.Len()
		all.Write(d.text(""))
		list[i] = all.String()[from:]
	}
	return list
}

// native returns the metadata of the model with the types that they have in the
// file. A copy within the format keeps these.
func (f *parsed) native() (*schema.Native, error) {
	return &schema.Native{Format: formatName, Raw: f.parts[0].meta}, nil
}

// originals returns the entries of the file that is copied, by key.
func originals(p *schema.Schema) map[string]entry {
	if p.Native == nil || p.Native.Format != formatName {
		return nil
	}
	all := make(map[string]entry, len(p.Metadata))
	for e := range entries(p.Native.Raw) {
		_, repeated := all[string(e.key)]
		if !repeated {
			all[string(e.key)] = e
		}
	}
	return all
}

// unchanged reports whether a value of a schema is what neutral returns, type and value. The zero
// entry is none.
func (e entry) unchanged(v any) bool {
	if e.key == nil {
		return false
	}
	switch x := e.neutral().(type) {
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
