package mobi

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// Param is a named value of an operator: an int32, int64, float32, float64,
// bool, []int32, []float32, and beyond the specification string and []int64.
type Param struct {
	Name  string
	Value any
}

// rawParam is a parameter as it is in the file.
type rawParam struct {
	at    int64 // file offset of the record
	name  []byte
	typ   uint8
	value []byte // of arrays and strings without their count
}

// nextParam reads one parameter and checks it fully.
func nextParam(c *wire.Cursor) rawParam {
	p := rawParam{at: c.Offset()}
	p.name = nextName(c, "parameter name", uint64(c.U16("parameter name length")))
	p.typ = c.U8("parameter type")
	at := c.Offset()
	switch p.typ {
	case paramInt32, paramFloat32:
		p.value = c.Bytes("parameter value", 4)
	case paramInt64, paramFloat64:
		p.value = c.Bytes("parameter value", 8)
	case paramBool:
		p.value = c.Bytes("parameter value", 1)
		if len(p.value) == 1 && p.value[0] > 1 {
			c.Failf("parameter value", at, format.ErrCorrupt, "bool is %d", p.value[0])
		}
	case paramInt32s, paramFloat32s:
		p.value = nextArray(c, 4)
	case paramInt64s:
		p.value = nextArray(c, 8)
	case paramString:
		n := c.U32("parameter string length")
		at = c.Offset()
		p.value = c.Bytes("parameter value", uint64(n))
		if !utf8.Valid(p.value) {
			c.Failf("parameter value", at, format.ErrCorrupt, "string is not valid UTF-8")
		}
	default:
		c.Failf("parameter type", at-1, format.ErrUnsupported, "type %d", p.typ)
	}
	return p
}

// nextArray reads a count and as many elements of size bytes.
func nextArray(c *wire.Cursor, size uint64) []byte {
	at := c.Offset()
	n := c.I32("parameter array count")
	if n < 0 {
		c.Failf("parameter array count", at, format.ErrCorrupt, "is %d", n)
		return nil
	}
	return c.Bytes("parameter array", uint64(n)*size)
}

// decode returns the value as a Go value, see Param.
func (p *rawParam) decode() any {
	le, v := binary.LittleEndian, p.value
	switch p.typ {
	case paramInt32:
		return int32(le.Uint32(v))
	case paramInt64:
		return int64(le.Uint64(v))
	case paramFloat32:
		return math.Float32frombits(le.Uint32(v))
	case paramFloat64:
		return math.Float64frombits(le.Uint64(v))
	case paramBool:
		return v[0] == 1
	case paramInt32s:
		return appendInt32s(make([]int32, 0, len(v)/4), v)
	case paramFloat32s:
		return appendFloat32s(make([]float32, 0, len(v)/4), v)
	case paramInt64s:
		s := make([]int64, len(v)/8)
		for i := range s {
			s[i] = int64(le.Uint64(v[8*i:]))
		}
		return s
	}
	return string(v)
}

func appendInt32s(s []int32, v []byte) []int32 {
	for ; len(v) >= 4; v = v[4:] {
		s = append(s, int32(binary.LittleEndian.Uint32(v)))
	}
	return s
}

func appendFloat32s(s []float32, v []byte) []float32 {
	for ; len(v) >= 4; v = v[4:] {
		s = append(s, math.Float32frombits(binary.LittleEndian.Uint32(v)))
	}
	return s
}
