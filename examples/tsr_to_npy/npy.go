package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// descr maps the dtypes of TSR files to NumPy's names.
var descr = map[tensor.DType]string{
	tensor.Float32: "<f4",
	tensor.Int8:    "|i1",
	tensor.Int32:   "<i4",
}

// npyHeader returns the bytes before the data: magic, version 1.0, a 16-bit length, and a Python
// dict padded so that the data begins at a multiple of 64. Version 2.0, with a wider length, is not
// needed: the dict of four dims has about 100 bytes.
func npyHeader(t tensor.Info) ([]byte, error) {
	d, ok := descr[t.DType]
	if !ok {
		return nil, fmt.Errorf("%w: dtype %v", format.ErrUnsupported, t.DType)
	}
	dims := strings.Trim(t.Shape.String(), "[]")
	if len(t.Shape) == 1 {
		dims += "," // or Python reads the parentheses as arithmetic
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", d, dims)
	const before = 10 // magic, version, length
	pad := 63 - (before+len(dict))%64
	head := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(head[8:], uint16(len(dict)+pad+1))
	return append(head, dict+strings.Repeat(" ", pad)+"\n"...), nil
}
