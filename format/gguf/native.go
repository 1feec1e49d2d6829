package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Native implements driver.Parsed: the metadata of the model with the types that they have in the
// file. A copy within the format keeps these, and tensors of types that are not known.
func (f *parsed) Native() (*driver.Native, error) {
	if len(f.parts) == 0 {
		return nil, nil
	}
	return &driver.Native{Format: formatName, Raw: f.parts[0].meta}, nil
}

// isCopy reports whether a plan is that of a file of this format.
func isCopy(p *driver.Plan) bool { return p.Native != nil && p.Native.Format == formatName }

// originals returns the values that metadata had in the file that is copied, with their types, by key.
func originals(p *driver.Plan) map[string][]byte {
	if !isCopy(p) {
		return nil
	}
	all := make(map[string][]byte, len(p.Metadata))
	for b := p.Native.Raw; len(b) > 0; {
		key, ok := checked(typeString, b, 0)
		if !ok || len(b)-key < 4 {
			return nil // of somebody else's making
		}
		n, ok := checked(valueType(binary.LittleEndian.Uint32(b[key:])), b[key+4:], 0)
		if !ok {
			return nil
		}
		if name := string(b[minString:key]); all[name] == nil {
			all[name] = b[key : key+4+n : key+4+n]
		}
		b = b[key+4+n:]
	}
	return all
}

// checked is valueLen for bytes that were not checked before.
func checked(t valueType, b []byte, depth int) (n int, ok bool) {
	if t >= numValueTypes || len(b) < valueSizes[t] || depth > maxDepth {
		return 0, false
	}
	n = valueSizes[t]
	switch t {
	case typeString:
		size := binary.LittleEndian.Uint64(b)
		return n + int(size), size <= uint64(len(b)-n)
	case typeArray:
		elem, count, _ := array(b)
		if elem >= numValueTypes || count < 0 || count > (len(b)-n)/valueSizes[elem] {
			return 0, false
		}
		if elem != typeString && elem != typeArray {
			return n + count*valueSizes[elem], true
		}
		for range count {
			size, ok := checked(elem, b[n:], depth+1)
			if !ok {
				return 0, false
			}
			n += size
		}
	}
	return n, true
}

// unchanged reports whether a value of a plan is what is read of one in the file, type and value.
func unchanged(was []byte, v any) bool {
	if was == nil {
		return false
	}
	t, b := valueType(binary.LittleEndian.Uint32(was)), was[4:]
	switch v := v.(type) {
	case float64:
		x, ok := neutral(t, b).(float64)
		return ok && math.Float64bits(x) == math.Float64bits(v)
	case json.RawMessage:
		if t != typeArray {
			return false
		}
		text, _ := appendArray(make([]byte, 0, len(v)), b)
		return bytes.Equal(text, v)
	case bool, string, int64, json.Number:
		return t != typeArray && neutral(t, b) == v
	}
	return false
}

// codeIn is codeOf for a tensor of a plan.
func codeIn(p *driver.Plan, t *tensor.Info) (code uint32, ok bool) {
	if code, ok = codeOf(t); ok || !isCopy(p) {
		return code, ok
	}
	return unknownCode(t)
}
