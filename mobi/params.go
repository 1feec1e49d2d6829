package mobi

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
)

// paramType is a type of operator parameters.
type paramType struct {
	goType string
	size   int // in bytes, of a number
	code   func(c *coder, v any, size int) any
}

// paramTypes are the types, by their code. String and []int64 are extensions.
var paramTypes = [...]paramType{
	{"int32", 4, codeOne[int32]}, {"int64", 8, codeOne[int64]}, {"float32", 4, codeOne[float32]}, {"float64", 8, codeOne[float64]}, {"bool", 1, codeBool},
	{"[]int32", 4, codeArray[int32]}, {"[]float32", 4, codeArray[float32]}, {"string", 1, codeString}, {"[]int64", 8, codeArray[int64]},
}

func (c *coder) codeParam(q *Param) {
	at := c.Offset()
	c.name("parameter name length", 2, &q.Name, false)
	goType := fmt.Sprintf("%T", q.Value)
	code := uint8(slices.IndexFunc(paramTypes[:], func(t paramType) bool { return t.goType == goType }))
	codeNumber(c, "parameter type", &code)
	switch {
	case int(code) < len(paramTypes):
		t := &paramTypes[code]
		q.Value = t.code(c, q.Value, t.size)
	case c.w != nil:
		c.Failf("parameter type", 0, format.ErrUnsupported, "MOBI has no parameters of type %s", schema.TypeName(q.Value))
	default:
		c.Failf("parameter type", c.Offset()-1, format.ErrUnsupported, "type %d", code)
	}
	c.reserve("operators", paramBytes+int(c.Offset()-at))
}

func codeOne[T any](c *coder, v any, size int) any {
	var x [1]T
	x[0], _ = v.(T)
	vector.Copy(x[:], c.native("parameter value", memory.BytesOf(x[:]), 1, size), size)
	return x[0]
}

func codeBool(c *coder, v any, _ int) any {
	at, n := c.Offset(), uint8(0)
	if v == true {
		n = 1
	}
	if codeNumber(c, "parameter value", &n); n > 1 {
		c.Failf("parameter value", at, format.ErrCorrupt, "bool is %d", n)
	}
	return n == 1
}

func codeString(c *coder, v any, _ int) any {
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

func codeArray[T any](c *coder, v any, size int) any {
	list, _ := v.([]T)
	at, n := c.Offset(), uint32(len(list))
	if codeNumber(c, "parameter array count", &n); n > math.MaxInt32 {
		c.Failf("parameter array count", at, format.ErrCorrupt, "is %d", int32(n))
	}
	return codeNumbers(c, "parameter array", list, int(n), size)
}
