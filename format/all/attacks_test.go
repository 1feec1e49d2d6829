package all_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
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

// squeezed compresses what write writes.
func squeezed(t testing.TB, codec string, write func(io.Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	var z io.WriteCloser
	var err error
	if codec == "gzip" {
		z, err = gzip.NewWriterLevel(&out, 9)
	} else {
		z, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	}
	if err != nil {
		t.Fatal(err)
	}
	write(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func packed(t testing.TB, codec string, b []byte) []byte {
	return squeezed(t, codec, func(w io.Writer) { w.Write(b) })
}

// zeros are size bytes of zeros, compressed.
func zeros(t testing.TB, codec string, size int) []byte {
	return squeezed(t, codec, func(w io.Writer) { writeZeros(w, size) })
}

func writeZeros(w io.Writer, size int) {
	for piece := make([]byte, 1<<20); size > 0; size -= len(piece) {
		piece = piece[:min(size, len(piece))]
		w.Write(piece)
	}
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
	return wiaFile(2, packed(t, "zstd", []byte("{}")), packed(t, "zstd", graph), nil)
}

// wiaZeros has n compressed tensors of so many zeros each.
func wiaZeros(t testing.TB, codec string, n, size int) []byte {
	data, code := zeros(t, codec, size), uint64(1)
	if codec == "zstd" {
		code = 2
	}
	var block []byte
	for i := range n {
		head := bytes.Join([][]byte{field(1, fmt.Append(nil, "w", i)), number(2, uint64(size)), number(3, 7)}, nil)
		block = append(block, field(2, field(1, head), number(2, code), field(3, data), number(4, uint64(size)))...)
	}
	return wiaFile(0, nil, nil, block)
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

// mobiZeros has n constants of int8 zeros in gzip members.
func mobiZeros(t testing.TB, n, size int) []byte {
	data := zeros(t, "gzip", size)
	var b []byte
	for i := range n {
		b = le.AppendUint32(b, uint32(i))
		b = append(b, 2, 0x80, 1, 0)
		b = le.AppendUint64(le.AppendUint64(b, uint64(size)), uint64(len(data)))
		b = append(b, data...)
	}
	return mobiFile(noSpecs, b, make([]byte, 4))
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

// mleZeros has n tensors of int8 zeros, each in a chunk of its own or all in one stream.
func mleZeros(method byte, data []byte, n, size int, chunked bool) []byte {
	var descriptors, weights []byte
	total := n * size
	comp := le.AppendUint64([]byte{method, 6, 0, 0}, uint64(total))
	comp = le.AppendUint32(comp, zeroSum(total))
	comp = append(comp, 0, 0, 0, 0)
	flags := uint32(1)
	if chunked {
		flags |= 0x40
		comp = le.AppendUint32(comp, uint32(n))
	}
	for i := range n {
		d := make([]byte, 56)
		le.PutUint64(d, uint64(i*size))
		le.PutUint64(d[8:], uint64(size))
		le.PutUint32(d[16:], 1)
		le.PutUint32(d[20:], uint32(size))
		d[52] = 2
		descriptors = append(descriptors, d...)
		if chunked {
			comp = le.AppendUint64(le.AppendUint64(le.AppendUint64(comp, uint64(i*size)), uint64(len(weights))), uint64(len(data)))
			comp = le.AppendUint32(le.AppendUint32(comp, crc32.ChecksumIEEE(data)), 0)
			weights = append(weights, data...)
		}
	}
	if !chunked {
		weights = data
	}
	return mleFile(flags, []byte("{}"), mleGraph(descriptors, nil, nil), weights, comp)
}

// zeroSum is the CRC-32 of zeros.
func zeroSum(n int) uint32 {
	h := crc32.NewIEEE()
	writeZeros(h, n)
	return h.Sum32()
}

// lz4Zeros is a block of one literal, one match, and five literals, as the format wants.
func lz4Zeros(size int) []byte {
	b := []byte{0x1F, 0, 1, 0}
	n := size - 1 - 5 - 4 - 15
	b = append(b, bytes.Repeat([]byte{255}, n/255)...)
	b = append(b, byte(n%255))
	return append(b, 0x50, 0, 0, 0, 0, 0)
}

// npzZeros has n arrays of int8 zeros.
func npzZeros(t testing.TB, n, size int) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	head := fmt.Sprintf("{'descr': '|i1', 'fortran_order': False, 'shape': (%d,), }", size)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	for i := range n {
		w, err := z.Create(fmt.Sprintf("w%d.npy", i))
		if err != nil {
			t.Fatal(err)
		}
		w.Write(append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(head)), byte(len(head) >> 8)}, head...))
		writeZeros(w, size)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, head)
	}
	z.Close()
	return out.Bytes()
}

// stCrowd is a safetensors file of empty tensors.
func stCrowd(size int) []byte {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `,"%x":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}`, i)
	}
	text := "{" + b.String()[1:] + "}"
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

// ggufEntries has as many entries as fit.
func ggufEntries(size int) []byte {
	var b []byte
	n := 0
	for ; len(b) < size; n++ {
		key := fmt.Sprintf("%x", n)
		b = append(le.AppendUint64(b, uint64(len(key))), key...)
		b = append(le.AppendUint32(b, 7), 1)
	}
	return ggufFile(0, n, b)
}

// ggufTensors has as many empty tensors as fit.
func ggufTensors(size int) []byte {
	var b []byte
	n := 0
	for ; len(b) < size; n++ {
		key := fmt.Sprintf("%x", n)
		b = append(le.AppendUint64(b, uint64(len(key))), key...)
		b = le.AppendUint64(le.AppendUint32(b, 1), 0)
		b = le.AppendUint64(le.AppendUint32(b, 24), 0)
	}
	return ggufFile(n, 0, b)
}
