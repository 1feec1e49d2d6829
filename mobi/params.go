package mobi

import (
	"math"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
)

// The types of operator parameters, by their code. String and the list of int64 are extensions.
const (
	paramInt32 uint8 = iota
	paramInt64
	paramFloat32
	paramFloat64
	paramBool
	paramInt32s
	paramFloat32s
	paramString
	paramInt64s
	paramUnknown uint8 = math.MaxUint8
)

// paramTypeOf returns the type of a value.
func paramTypeOf(v any) uint8 {
	switch v.(type) {
	case int32:
		return paramInt32
	case int64:
		return paramInt64
	case float32:
		return paramFloat32
	case float64:
		return paramFloat64
	case bool:
		return paramBool
	case []int32:
		return paramInt32s
	case []float32:
		return paramFloat32s
	case string:
		return paramString
	case []int64:
		return paramInt64s
	}
	return paramUnknown
}

func (c *coder) codeParam(q *Param) {
	at := c.Offset()
	c.name("parameter name length", 2, &q.Name, false)
	code := paramTypeOf(q.Value)
	if c.w != nil && code == paramUnknown {
		c.Failf("parameter type", 0, format.ErrUnsupported, "MOBI has no parameters of type %s", schema.TypeName(q.Value))
		return
	}
	codeNumber(c, "parameter type", &code)
	c.codeValue(q, code)
	c.reserve("operators", paramBytes+int(c.Offset()-at))
}

// codeValue codes the value of a parameter.
func (c *coder) codeValue(q *Param, code uint8) {
	switch code {
	case paramInt32:
		q.Value = codeOne[int32](c, q.Value, 4)
	case paramInt64:
		q.Value = codeOne[int64](c, q.Value, 8)
	case paramFloat32:
		q.Value = codeOne[float32](c, q.Value, 4)
	case paramFloat64:
		q.Value = codeOne[float64](c, q.Value, 8)
	case paramBool:
		q.Value = codeBool(c, q.Value)
	case paramInt32s:
		q.Value = codeArray[int32](c, q.Value, 4)
	case paramFloat32s:
		q.Value = codeArray[float32](c, q.Value, 4)
	case paramString:
		q.Value = codeString(c, q.Value)
	case paramInt64s:
		q.Value = codeArray[int64](c, q.Value, 8)
	default:
		c.Failf("parameter type", c.Offset()-1, format.ErrUnsupported, "type %d", code)
	}
}

func codeOne[T any](c *coder, v any, size int) T {
	var x [1]T
	x[0], _ = v.(T)
	vector.Copy(x[:], c.native("parameter value", memory.BytesOf(x[:]), 1, size), size)
	return x[0]
}

func codeBool(c *coder, v any) bool {
	at := c.Offset()
	n := uint8(0)
	if v == true {
		n = 1
	}
	codeNumber(c, "parameter value", &n)
	if n > 1 {
		c.Failf("parameter value", at, format.ErrCorrupt, "bool is %d", n)
	}
	return n == 1
}

func codeString(c *coder, v any) string {
	s, _ := v.(string)
	n := uint32(len(s))
	codeNumber(c, "parameter string length", &n)
	at := c.Offset()
	b := c.bytes("parameter value", uint64(n), []byte(s))
	if !utf8.Valid(b) {
		c.Failf("parameter value", at, format.ErrCorrupt, "is not valid UTF-8")
	}
	return string(b)
}

func codeArray[T any](c *coder, v any, size int) []T {
	list, _ := v.([]T)
	at := c.Offset()
	n := uint32(len(list))
	codeNumber(c, "parameter array count", &n)
	if n > math.MaxInt32 {
		c.Failf("parameter array count", at, format.ErrCorrupt, "is %d", int32(n))
	}
	return codeNumbers(c, "parameter array", list, int(n), size)
}
