package all_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
	"google.golang.org/protobuf/encoding/protowire"
)

// Small files that ask for much memory, built field by field: crowds of the
// smallest things that a structure can have, compressed or not, and tensors of
// zeros. What they may take is in memory_linux_test.go.

var le = binary.LittleEndian

func field(num protowire.Number, parts ...[]byte) []byte {
	b := protowire.AppendTag(nil, num, protowire.BytesType)
	return protowire.AppendBytes(b, bytes.Join(parts, nil))
}

func number(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}

// crowd is an element so often that it takes size bytes.
func crowd(size int, elem []byte) []byte { return bytes.Repeat(elem, size/len(elem)) }

// many are as many elements as take size bytes.
func many(size int, elem func(i int) []byte) (b []byte) {
	for i := 0; len(b) < size; i++ {
		b = append(b, elem(i)...)
	}
	return b
}

// attribute has a name and nothing else.
func attribute(i int) []byte { return field(5, field(1, fmt.Append(nil, i))) }

// packed compresses with Zstandard.
func packed(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	expect.OK(t, err)
	return z.EncodeAll(b, nil)
}

// nulls reads as zeros without end.
type nulls struct{}

func (nulls) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// zeros is a file of n tensors of size zeros, which their format compresses.
func zeros(o *format.WriteOptions, n int, size int64) func(t testing.TB) []byte {
	return func(t testing.TB) []byte {
		p := &schema.Schema{}
		for i := range n {
			p.Tensors = append(p.Tensors, list(tensor.Int8, fmt.Sprint(i), size))
		}
		var out bytes.Buffer
		w, err := format.NewWriter(&out, p, o)
		expect.OK(t, err)
		for _, info := range p.Tensors {
			expect.OK(t, w.WriteTensor(info.Name, io.LimitReader(nulls{}, size)))
		}
		expect.OK(t, w.Close())
		return out.Bytes()
	}
}

// wiaWith has all tensors compressed.
func wiaWith(c wia.Compression) *format.WriteOptions {
	return &format.WriteOptions{Format: wia.Format{CompressTensor: func(tensor.Info) wia.Compression { return c }}}
}

// wiaFile has its blocks as they are stored, and their sums. Compression is 1 for gzip,
// 2 for zstd.
func wiaFile(compression byte, meta, graph, tensors []byte) []byte {
	h := make([]byte, 256)
	sums := func() (b []byte) {
		for i, name := range []string{"header", "metadata", "graph", "tensor"} {
			sum := sha256.Sum256([][]byte{h, meta, graph, tensors}[i])
			b = append(b, field(1, field(1, []byte(name)), field(2, sum[:]))...)
		}
		return b
	}
	le.PutUint32(h, 0x57494131)
	le.PutUint16(h[4:], 1)
	at := len(h)
	for i, b := range [][]byte{meta, graph, tensors, sums()} {
		le.PutUint64(h[8+16*i:], uint64(at))
		le.PutUint64(h[16+16*i:], uint64(len(b)))
		at += len(b)
	}
	h[72] = compression
	return bytes.Join([][]byte{h, meta, graph, tensors, sums()}, nil)
}

func wiaGraph(graph []byte) []byte { return wiaFile(0, nil, graph, nil) }

// wiaPacked has a compressed graph.
func wiaPacked(t testing.TB, graph []byte) []byte {
	return wiaFile(2, packed(t, []byte("{}")), packed(t, graph), nil)
}

// onnxFile has a graph.
func onnxFile(graph ...[]byte) []byte {
	return append(number(1, 8), field(7, graph...)...)
}

// mobiFile has metadata and specs, constants, and operators with their count.
func mobiFile(specs, constants, operators []byte) []byte {
	h := make([]byte, 32)
	copy(h, "IBOM")
	le.PutUint16(h[4:], 1)
	le.PutUint32(h[16:], uint32(len(h)+len(specs)+len(constants)+len(operators)+4))
	le.PutUint32(h[20:], 32)
	le.PutUint32(h[24:], uint32(32+len(specs)))
	le.PutUint32(h[28:], uint32(32+len(specs)+len(constants)))
	b := bytes.Join([][]byte{h, specs, constants, operators}, nil)
	return le.AppendUint32(b, adler32.Checksum(b))
}

// noSpecs is the metadata of a model without name, inputs and outputs.
var noSpecs = make([]byte, 24)

// mobiOperators has size bytes of one operator.
func mobiOperators(size int, operator []byte) []byte {
	n := size / len(operator)
	return mobiFile(noSpecs, nil, append(le.AppendUint32(nil, uint32(n)), bytes.Repeat(operator, n)...))
}

// mobiParams is an operator with n flags.
func mobiParams(n int) []byte {
	b := []byte{6, 0, 0, 0, 0, 0, byte(n), byte(n >> 8)}
	for i := range n {
		name := fmt.Sprintf("%03x", i)
		b = append(append(b, 3, 0), name...)
		b = append(b, 4, 1)
	}
	return b
}

// mleFile is a version 2 file without sums.
func mleFile(flags uint32, meta, graph, weights, compression []byte) []byte {
	h := make([]byte, 144)
	copy(h, "MLE\x00")
	le.PutUint32(h[4:], 2)
	le.PutUint32(h[8:], flags)
	le.PutUint32(h[12:], 144)
	at := len(h)
	for _, s := range []struct {
		pos int
		b   []byte
	}{{16, meta}, {32, graph}, {48, weights}, {80, compression}} {
		if len(s.b) > 0 || s.pos < 64 {
			le.PutUint64(h[s.pos:], uint64(at))
			le.PutUint64(h[s.pos+8:], uint64(len(s.b)))
		}
		at += len(s.b)
	}
	le.PutUint32(h[112:], 2)
	le.PutUint32(h[116:], 2)
	return bytes.Join([][]byte{h, meta, graph, weights, compression}, nil)
}

// mleGraph has descriptors, nodes and attributes.
func mleGraph(descriptors, nodes, attributes []byte) []byte {
	b := make([]byte, 144)
	le.PutUint32(b, uint32(len(nodes)/208))
	le.PutUint32(b[4:], uint32(len(descriptors)/56))
	return bytes.Join([][]byte{b, descriptors, nodes, attributes}, nil)
}

// mleOverlap has nodes whose attributes begin one object further each, and so have
// nearly all in common.
func mleOverlap(size int) []byte {
	const n = 60
	inner := strings.Repeat(`{"k":`, n) + "[" + strings.Repeat("0,", size/2) + "0]" + strings.Repeat("}", n)
	nodes := make([]byte, 208*n)
	for i := range n {
		le.PutUint32(nodes[208*i+200:], uint32(144+len(nodes)+5*i))
		le.PutUint32(nodes[208*i+204:], uint32(len(inner)-6*i))
	}
	return mleFile(0, []byte("{}"), mleGraph(nil, nodes, []byte(inner)), nil, nil)
}

// mleLoose has nodes that use only ids without descriptors, none twice.
func mleLoose(size int) []byte {
	nodes := make([]byte, size/208*208)
	id := uint32(math.MaxUint32)
	for i := 0; i < len(nodes); i += 208 {
		for k := 2; k < 8; k += 2 {
			le.PutUint16(nodes[i+k:], 16)
		}
		for k := 8; k < 200; k += 4 {
			le.PutUint32(nodes[i+k:], id)
			id--
		}
	}
	return mleFile(0, []byte("{}"), mleGraph(nil, nodes, nil), nil, nil)
}

// mleAttributes has one node with attributes.
func mleAttributes(text string) []byte {
	node := make([]byte, 208)
	le.PutUint32(node[200:], 144+208)
	le.PutUint32(node[204:], uint32(len(text)))
	return mleFile(0, []byte("{}"), mleGraph(nil, node, []byte(text)), nil, nil)
}

// manyKeys is a JSON object of about size bytes with as many keys as fit.
func manyKeys(size int, value string) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(`,"`)
		for k := i; ; k >>= 6 {
			b.WriteByte(digits[k&63])
			if k < 64 {
				break
			}
		}
		b.WriteString(`":` + value)
	}
	return "{" + b.String()[1:] + "}"
}

// npzZeros has n arrays of int8 zeros.
func npzZeros(t testing.TB, n int, size int64) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	head := fmt.Sprintf("{'descr': '|i1', 'fortran_order': False, 'shape': (%d,), }", size)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	for i := range n {
		w, err := z.Create(fmt.Sprintf("w%d.npy", i))
		expect.OK(t, err)
		w.Write(append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(head)), byte(len(head) >> 8)}, head...))
		_, err = io.CopyN(w, nulls{}, size)
		expect.OK(t, err)
	}
	expect.OK(t, z.Close())
	return out.Bytes()
}

// npzCrowd has as many empty arrays as fit.
func npzCrowd(t testing.TB, size int) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	head := "{'descr':'|i1','fortran_order':False,'shape':(0,)}\n"
	head = string([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(head)), 0}) + head
	for i := 0; out.Len() < size; i++ {
		w, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%x.npy", i)})
		expect.OK(t, err)
		io.WriteString(w, head)
	}
	z.Close()
	return out.Bytes()
}

// stCrowd is a safetensors file of empty tensors.
func stCrowd(size int) []byte {
	entries := many(size, func(i int) []byte {
		return fmt.Appendf(nil, `,"%x":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}`, i)
	})
	text := "{" + string(entries[1:]) + "}"
	return append(le.AppendUint64(nil, uint64(len(text))), text...)
}

// stMetadata is a safetensors file with nothing but metadata.
func stMetadata(size int) []byte {
	text := `{"__metadata__":` + manyKeys(size, `""`) + "}"
	return append(le.AppendUint64(nil, uint64(len(text))), text...)
}

// ggufFile has entries or tensors.
func ggufFile(tensors, entries int, b []byte) []byte {
	h := le.AppendUint64(le.AppendUint64(le.AppendUint32([]byte("GGUF"), 3), uint64(tensors)), uint64(entries))
	return append(h, b...)
}

// ggufFlags is an array of size bools.
func ggufFlags(size int) []byte {
	b := append(le.AppendUint64(nil, 1), 'a')
	b = le.AppendUint32(le.AppendUint32(b, 9), 7)
	b = append(le.AppendUint64(b, uint64(size)), make([]byte, size)...)
	return ggufFile(0, 1, b)
}

// ggufCrowd has as many of something as fit, each with a key and the same bytes behind it.
func ggufCrowd(size int, rest []byte, file func(n int, b []byte) []byte) []byte {
	n := 0
	b := many(size, func(i int) []byte {
		n++
		key := fmt.Sprintf("%x", i)
		return append(append(le.AppendUint64(nil, uint64(len(key))), key...), rest...)
	})
	return file(n, b)
}

// ggufEntries has entries that are true.
func ggufEntries(size int) []byte {
	return ggufCrowd(size, append(le.AppendUint32(nil, 7), 1), func(n int, b []byte) []byte { return ggufFile(0, n, b) })
}

// ggufTensors has empty tensors.
func ggufTensors(size int) []byte {
	vector := le.AppendUint64(le.AppendUint32(nil, 1), 0)
	vector = le.AppendUint64(le.AppendUint32(vector, 24), 0)
	return ggufCrowd(size, vector, func(n int, b []byte) []byte { return ggufFile(n, 0, b) })
}
