package mobi

import (
	"hash/adler32"
)

// referenceContainer builds a file of the reference writer, field by field: a header
// of 30 bytes, a total without the footer, a count before the tensors, and a checksum
// over four bytes too few.
func referenceContainer(name string, records ...[]byte) []byte {
	meta := le(uint32(len(name)), name, uint32(1), uint64(1_800_000_000), uint64(0)) // no inputs, no outputs
	tensors := le(uint32(len(records)), join(records...))
	graph := le(uint32(0))
	tensorAt := 30 + len(meta)
	graphAt := tensorAt + len(tensors)
	header := le("IBOM", uint16(1), uint64(0), uint32(graphAt+len(graph)), uint32(30), uint32(tensorAt), uint32(graphAt))
	b := join(header, meta, tensors, graph)
	return append(b, le(adler32.Checksum(b[:len(b)-4]))...)
}
