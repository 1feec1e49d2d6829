package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// Int64 and Float64 in a plan's metadata are written with these very types. Plain
// int64 and float64 values, as most formats have them, take the type that
// files usually have: see the package documentation.
type (
	Int64   int64
	Float64 float64
)

// each walks the entries of a file, which are known to be sound, until f returns
// false. value is all of the value, behind its type.
func (p *part) each(f func(key []byte, t valueType, value []byte) bool) {
	le := binary.LittleEndian
	for b := p.meta; len(b) > 0; {
		key := b[8 : 8+le.Uint64(b)]
		b = b[8+len(key):]
		t := valueType(le.Uint32(b))
		n := valueLen(t, b[4:])
		if !f(key, t, b[4:4+n]) {
			return
		}
		b = b[4+n:]
	}
}

// valueLen returns the number of bytes of the value that b begins with.
func valueLen(t valueType, b []byte) int {
	switch t {
	case typeString:
		return 8 + int(binary.LittleEndian.Uint64(b))
	case typeArray:
		elem, n, elems := array(b)
		if elem != typeString && elem != typeArray {
			return 12 + n*valueSizes[elem]
		}
		at := 12
		for range n {
			at += valueLen(elem, elems[at-12:])
		}
		return at
	}
	return valueSizes[t]
}

// array takes an array apart: type and number of its elements, and what begins
// with the first.
func array(b []byte) (elem valueType, n int, elems []byte) {
	return valueType(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint64(b[4:])), b[12:]
}

// Metadata implements driver.Parsed.
func (f *parsed) Metadata() (driver.Metadata, error) { return f.metadata(neutral, jsonSizes) }

// metadata returns the entries of the model, with their values as make returns
// them, if the model may take the memory for that.
func (f *parsed) metadata(value func(t valueType, b []byte) any, room sizes) (driver.Metadata, error) {
	if len(f.parts) == 0 || f.parts[0].entries == 0 {
		return nil, nil
	}
	p := &f.parts[0]
	total := int64(0)
	p.each(func(key []byte, t valueType, b []byte) bool {
		n, _ := room.of(t, b)
		total += entrySize + int64(len(key)) + n
		return true
	})
	if err := f.opts.Memory.Reserve(total); err != nil {
		return nil, wire.Error(formatName, "metadata", headerSize, err)
	}
	defer f.opts.Memory.Release(total)
	m := make(driver.Metadata, 0, p.entries)
	p.each(func(key []byte, t valueType, b []byte) bool {
		e := driver.Entry{Key: string(key)}
		// Of a model that is whole nobody asks how many files it came in.
		if len(f.parts) > 1 && isSplitKey(e.Key) {
			return true
		}
		e.Value = value(t, b)
		m = append(m, e)
		return true
	})
	return m, nil
}

// entrySize is the memory of an entry besides its key and what is in its value.
const entrySize = 48

// sizes are the most bytes of memory that an element of an array becomes, by its type; of strings
// and arrays besides what is in them.
type sizes struct {
	elems [numValueTypes]int
	json  bool // as text
}

var (
	jsonSizes = sizes{[numValueTypes]int{4, 5, 6, 7, 11, 12, 26, 6, 3, 3, 21, 21, 26}, true}
	goSizes   = sizes{[numValueTypes]int{1, 1, 2, 2, 4, 4, 4, 1, 16, 40, 8, 8, 8}, false}
)

// of returns the bytes for the value that b begins with, and how many bytes of b that is.
func (s *sizes) of(t valueType, b []byte) (room int64, used int) {
	if t == typeString {
		used = valueLen(t, b)
		return s.text(b[minString:used]), used
	}
	if t != typeArray {
		return 0, valueSizes[t]
	}
	elem, n, elems := array(b)
	room, used = int64(n)*int64(s.elems[elem]), 12
	if elem != typeString && elem != typeArray {
		return room, used + n*valueSizes[elem]
	}
	for range n {
		inner, k := s.of(elem, elems[used-12:])
		room, used = room+inner, used+k
	}
	return room, used
}

// text returns the bytes for what is in a string.
func (s *sizes) text(b []byte) (n int64) {
	n = int64(len(b))
	if !s.json {
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

// integer returns the value of an integer type that int64 holds.
func integer(t valueType, b []byte) (n int64, ok bool) {
	le := binary.LittleEndian
	switch t {
	case typeUint8:
		return int64(b[0]), true
	case typeInt8:
		return int64(int8(b[0])), true
	case typeUint16:
		return int64(le.Uint16(b)), true
	case typeInt16:
		return int64(int16(le.Uint16(b))), true
	case typeUint32:
		return int64(le.Uint32(b)), true
	case typeInt32:
		return int64(int32(le.Uint32(b))), true
	case typeInt64, typeUint64:
		n = int64(le.Uint64(b))
		return n, t == typeInt64 || n >= 0
	}
	return 0, false
}

// neutral returns a value as all formats have them.
func neutral(t valueType, b []byte) any {
	if n, ok := integer(t, b); ok {
		return n
	}
	le := binary.LittleEndian
	switch t {
	case typeFloat32:
		return float64(math.Float32frombits(le.Uint32(b)))
	case typeFloat64:
		return math.Float64frombits(le.Uint64(b))
	case typeUint64:
		return json.Number(strconv.FormatUint(le.Uint64(b), 10))
	case typeBool:
		return b[0] != 0
	case typeString:
		return string(b[8:])
	}
	text, _ := appendArray(nil, b)
	return json.RawMessage(text)
}

// appendArray appends an array as JSON, and returns how many bytes of b it is.
func appendArray(out, b []byte) (text []byte, size int) {
	elem, n, elems := array(b)
	size = 12
	out = append(out, '[')
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		used := 0
		if elem == typeArray {
			out, used = appendArray(out, elems)
		} else {
			used = valueLen(elem, elems)
			out = appendScalar(out, elem, elems[:used])
		}
		elems, size = elems[used:], size+used
	}
	return append(out, ']'), size
}

// appendScalar appends what is no array as JSON.
func appendScalar(out []byte, t valueType, b []byte) []byte {
	switch t {
	case typeString:
		return appendString(out, b[8:])
	case typeBool:
		return strconv.AppendBool(out, b[0] != 0)
	case typeUint64:
		return strconv.AppendUint(out, binary.LittleEndian.Uint64(b), 10)
	case typeFloat32:
		return appendFloat(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	case typeFloat64:
		return appendFloat(out, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	n, _ := integer(t, b)
	return strconv.AppendInt(out, n, 10)
}

// appendFloat appends a number that reads as a float also when it is whole, and
// a string for what JSON lacks.
func appendFloat(out []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return strconv.AppendQuote(out, strconv.FormatFloat(x, 'g', -1, 64))
	}
	at := len(out)
	out = strconv.AppendFloat(out, x, 'g', -1, 64)
	if !bytes.ContainsAny(out[at:], ".e") {
		out = append(out, ".0"...)
	}
	return out
}

// appendString appends a JSON string. What is not UTF-8 is replaced.
func appendString(out, s []byte) []byte {
	const hex = "0123456789abcdef"
	if !utf8.Valid(s) {
		s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
	}
	out = append(out, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// typed returns a value with the type that it has in the file.
func typed(t valueType, b []byte) any {
	switch n, _ := integer(t, b); t {
	case typeUint8:
		return uint8(n)
	case typeInt8:
		return int8(n)
	case typeUint16:
		return uint16(n)
	case typeInt16:
		return int16(n)
	case typeUint32:
		return uint32(n)
	case typeInt32:
		return int32(n)
	case typeInt64:
		return Int64(n)
	case typeUint64:
		return binary.LittleEndian.Uint64(b)
	case typeFloat32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case typeFloat64:
		return Float64(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case typeArray:
		return typedArray(b)
	}
	return neutral(t, b)
}

// typedArray returns an array as a slice of its elements' type.
func typedArray(b []byte) any {
	le := binary.LittleEndian
	elem, n, b := array(b)
	switch elem {
	case typeUint8:
		return list(n, b, 1, func(b []byte) uint8 { return b[0] })
	case typeInt8:
		return list(n, b, 1, func(b []byte) int8 { return int8(b[0]) })
	case typeUint16:
		return list(n, b, 2, le.Uint16)
	case typeInt16:
		return list(n, b, 2, func(b []byte) int16 { return int16(le.Uint16(b)) })
	case typeUint32:
		return list(n, b, 4, le.Uint32)
	case typeInt32:
		return list(n, b, 4, func(b []byte) int32 { return int32(le.Uint32(b)) })
	case typeFloat32:
		return list(n, b, 4, func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) })
	case typeBool:
		return list(n, b, 1, func(b []byte) bool { return b[0] != 0 })
	case typeUint64:
		return list(n, b, 8, le.Uint64)
	case typeInt64:
		return list(n, b, 8, func(b []byte) int64 { return int64(le.Uint64(b)) })
	case typeFloat64:
		return list(n, b, 8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) })
	case typeString:
		return stringsOf(n, b)
	}
	out := make([]any, n)
	for i := range out {
		used := valueLen(elem, b)
		out[i], b = typedArray(b[:used]), b[used:]
	}
	return out
}

func list[T any](n int, b []byte, size int, f func([]byte) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(b[i*size:])
	}
	return out
}

// stringsOf returns n strings, which share one allocation.
func stringsOf(n int, b []byte) []string {
	size := 0
	for range n {
		size += valueLen(typeString, b[size:])
	}
	all, out, at := string(b[:size]), make([]string, n), 0
	for i := range out {
		end := at + valueLen(typeString, b[at:])
		out[i], at = all[at+8:end], end
	}
	return out
}
