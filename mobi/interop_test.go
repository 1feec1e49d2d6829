package mobi

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
)

// referenceContainer builds a file of the reference writer, field by field: a header
// of 30 bytes, a total without the footer, a count before the tensors, and a checksum
// over four bytes too few.
func referenceContainer(name string, records ...[]byte) []byte {
	le := binary.LittleEndian
	meta := append(le.AppendUint32(nil, uint32(len(name))), name...)
	meta = le.AppendUint32(meta, 1)
	meta = le.AppendUint64(meta, 1_800_000_000)
	meta = le.AppendUint64(meta, 0) // no inputs, no outputs
	tensors := append(le.AppendUint32(nil, uint32(len(records))), bytes.Join(records, nil)...)
	graph := le.AppendUint32(nil, 0)
	tensorAt := 30 + len(meta)
	graphAt := tensorAt + len(tensors)
	b := le.AppendUint16([]byte("IBOM"), 1)
	for _, v := range []int{0, 0, graphAt + len(graph), 30, tensorAt, graphAt} {
		b = le.AppendUint32(b, uint32(v))
	}
	b = bytes.Join([][]byte{b, meta, tensors, graph}, nil)
	return le.AppendUint32(b, adler32.Checksum(b[:len(b)-4]))
}
