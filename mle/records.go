package mle

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/weightmap/weightmap/tensor"
)

// descriptor is one tensor of the graph as the file has it.
type descriptor [descriptorSize]byte

func (d *descriptor) offset() uint64 { return binary.LittleEndian.Uint64(d[:]) }
func (d *descriptor) size() uint64   { return binary.LittleEndian.Uint64(d[8:]) }
func (d *descriptor) rank() uint32   { return binary.LittleEndian.Uint32(d[16:]) }
func (d *descriptor) code() uint8    { return d[52] } // of the dtype

// dim returns dim k, below maxRank.
func (d *descriptor) dim(k int) uint32 { return binary.LittleEndian.Uint32(d[20+4*k:]) }

// shape fills in the dims.
func (d *descriptor) shape(s tensor.Shape) {
	for k := range s {
		s[k] = int64(d.dim(k))
	}
}

// constant reports whether the tensor has data.
func (d *descriptor) constant() bool { return d.size() != 0 }

// measured reports whether the tensor has data, and as much as shape and dtype say.
// One that has not needs a closer look.
func (d *descriptor) measured() bool {
	rank, code, hi := d.rank(), d.code(), uint64(0)
	if rank > maxRank || int(code) >= len(dtypeSizes) {
		return false
	}
	n := dtypeSizes[code]
	for k := range int(rank) {
		if hi, n = bits.Mul64(n, uint64(d.dim(k))); hi != 0 {
			return false
		}
	}
	return n == d.size() && n > 0 && n <= math.MaxInt64
}

// dtypeSizes are the sizes of elements by code.
var dtypeSizes = func() (sizes [len(dtypes)]uint64) {
	for code, d := range dtypes {
		sizes[code] = uint64(d.Size())
	}
	return sizes
}()

// node is one operator as the file has it.
type node [nodeSize]byte

// Where a node's lists of ids are. Their counts are in the order of the lists.
const (
	nodeIDs   = 8
	nodeAttrs = nodeIDs + 3*4*maxIDs
)

func (n *node) code() uint16          { return binary.LittleEndian.Uint16(n[:]) } // of the operator, as the file's version numbers it
func (n *node) count(list int) uint16 { return binary.LittleEndian.Uint16(n[2+2*list:]) }
func (n *node) attrOffset() uint32    { return binary.LittleEndian.Uint32(n[nodeAttrs:]) }
func (n *node) attrSize() uint32      { return binary.LittleEndian.Uint32(n[nodeAttrs+4:]) }

// The lists of a node.
const (
	nodeInputs = iota
	nodeOutputs
	nodeParams
	nodeLists
)

// id returns id k of a list, below its count.
func (n *node) id(list, k int) uint32 {
	return idAt(n[nodeIDs+4*maxIDs*list:], k)
}

// ids returns one of the lists.
func (n *node) ids(list int) []uint32 { return readIDs(n[nodeIDs+4*maxIDs*list:], int(n.count(list))) }

// readIDs returns the first n ids of b.
func readIDs(b []byte, n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = idAt(b, i)
	}
	return out
}

func idAt(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
