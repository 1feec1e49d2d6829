package mle

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

func mustOpen(t testing.TB, b []byte, o *format.Options) *File {
	t.Helper()
	f, err := OpenBytes(b, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// contents decodes all tensors as float32.
func contents(t testing.TB, f *File) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	for name, v := range f.Tensors() {
		x, err := tensor.Decode[float32](nil, v)
		if err != nil {
			t.Fatalf("tensor %s: %v", name, err)
		}
		all[name] = x
	}
	return all
}

var goldenContents = map[string][]float32{"w": {1, 2, 3, 4, 5, 6}, "b": {-1, 0.5}}

// checkGolden checks what all variants of plainGolden have in common.
func checkGolden(t *testing.T, f *File) {
	t.Helper()
	if diff := cmp.Diff(goldenContents, contents(t, f)); diff != "" {
		t.Error(diff)
	}
	wantGraph := &format.Graph{
		Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: format.FixedDims(1, 3)}},
		Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: format.FixedDims(1, 2)}},
		Nodes: []format.Node{{Op: "Linear", Inputs: []string{"x", "w", "b"}, Outputs: []string{"y"}, Attributes: []format.Attribute{
			{Name: "alpha", Value: 0.5}, {Name: "axes", Value: []int64{1, 2}},
		}}},
	}
	g, err := f.Graph()
	if diff := cmp.Diff(wantGraph, g, equateEmpty); err != nil || diff != "" {
		t.Error(err, diff)
	}
	wantMeta := format.Metadata{{Key: "model_name", Value: "m"}, {Key: "tensor_names", Value: json.RawMessage(`["w","x","b","y"]`)}}
	if diff := cmp.Diff(wantMeta, f.Metadata()); diff != "" {
		t.Error(diff)
	}
	if err := verify(f); err != nil {
		t.Errorf("Verify: %v", err)
	}
}

// misaligned is the engine's note about files without gaps.
const misaligned = "2 tensors are not aligned: views are copies"

func TestGolden(t *testing.T) {
	long := plainGolden()
	long.headerSize = 144
	old := plainGolden()
	old.version = 1
	unknown := plainGolden()
	unknown.flags = 0x80000000 | 0x40 | 0x80 | 0x10 | 0x20 | 8
	reserved := plainGolden().build()
	for _, at := range []int{120, 127} {
		reserved[at] = 0xAA
	}
	fixHeader(reserved)
	// Reserved bytes of descriptors, the tail of shape, unused ids, spare bytes
	// of the graph section and a placeholder's offset are ignored.
	spare := plainGolden()
	spare.attributes += "spare"
	loose := spare.build()
	graph := int(le.Uint64(loose[32:]))
	le.PutUint32(loose[graph+16+4*5:], 99)
	loose[graph+144+53] = 7
	le.PutUint32(loose[graph+144+20+4*7:], 12345)
	le.PutUint64(loose[graph+144+56:], 1<<60)
	fixSums(loose)
	unsummed := plainGolden()
	unsummed.noSums = true
	tests := []struct {
		name    string
		file    []byte
		version string
		notes   []string
	}{
		{"header of 128 bytes", plainGolden().build(), "2", nil},
		{"header of 144 bytes", long.build(), "2", nil},
		{"version 1", old.build(), "1", nil},
		{"flags that are hints or unknown", unknown.build(), "2", []string{"unknown feature flags 0x80000000"}},
		{"reserved bytes of the header", reserved, "2", nil},
		{"what is ignored in the graph", loose, "2", nil},
		{"no checksums recorded", unsummed.build(), "2", []string{
			"header checksum not recorded", "metadata checksum not recorded", "graph checksum not recorded", "weights checksum not recorded"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, tt.file, nil)
			checkGolden(t, f)
			if diff := cmp.Diff(append(tt.notes, misaligned), f.Notes()); diff != "" || f.Version() != tt.version || f.Format() != "mle" {
				t.Error(f.Version(), diff)
			}
		})
	}
}

func TestGoldenCompressed(t *testing.T) {
	for m, packed := range methodsOf(plainGolden().weights) {
		f := mustOpen(t, compressedGolden(m, packed).build(), nil)
		checkGolden(t, f)
		v, _ := f.Tensor("b")
		info := v.Info()
		want := tensor.Info{Name: "b", DType: tensor.Float32, Shape: tensor.Shape{2}, Offset: -1, Size: 8, Stored: -1, Compression: m.Name()}
		if m == MethodNone {
			want.Offset, want.Stored = f.Header().Weights.Offset+64, 8
		}
		if diff := cmp.Diff(want, info); diff != "" {
			t.Errorf("%v: %s", m, diff)
		}
		if v.ZeroCopy() != (m == MethodNone && info.Offset%4 == 0) {
			t.Errorf("%v: ZeroCopy %v", m, v.ZeroCopy())
		}
	}
}

func TestGoldenChunked(t *testing.T) {
	for m := range methodsOf(plainGolden().weights) {
		pack := func(b []byte) []byte {
			if m == MethodLZ4 && len(b) < 15 {
				return slices.Concat([]byte{byte(len(b)) << 4}, b)
			}
			return methodsOf(append(clone(b), make([]byte, max(0, 15-len(b)))...))[m]
		}
		if m != MethodLZ4 {
			pack = func(b []byte) []byte {
				switch m {
				case MethodZstd:
					return zstdRaw(b)
				case MethodBrotli:
					return brotliRaw(b)
				}
				return b
			}
		}
		g := chunkedGolden(pack, m)
		f := mustOpen(t, g.build(), nil)
		checkGolden(t, f)
		v, _ := f.Tensor("b")
		want := int64(len(pack(plainGolden().weights[64:])))
		if got := v.Info(); got.Stored != want || got.Compression != m.Name() {
			t.Errorf("%v: %+v, want %d stored", m, got, want)
		}
		if err := verify(f, format.WithTensors("b")); err != nil {
			t.Errorf("%v: Verify of one tensor: %v", m, err)
		}
	}
}

// quantGolden has two float tensors behind each other, as 8-bit integers.
func int8Golden() *gFile {
	g := plainGolden()
	plain := make([]float32, 18)
	packed := append(floats(0.5), 10, 0, 0, 0)
	for i := range plain {
		packed = append(packed, byte(i*3))
		plain[i] = float32(i*3-10) * 0.5
	}
	g.weights = packed
	g.flags = 1 | 0x10
	g.comp = compHeader(4, 6, 72, crc32.ChecksumIEEE(floats(plain...)), 8)
	return g
}

func halfGolden() *gFile {
	g := plainGolden()
	var packed []byte
	plain := make([]float32, 18)
	for i := range plain {
		plain[i] = float32(i) / 4
		packed = u16(packed, uint16(tensor.F16From(plain[i])))
	}
	g.weights = packed
	g.flags = 1
	g.comp = compHeader(5, 6, 72, crc32.ChecksumIEEE(floats(plain...)), 16)
	return g
}

func TestGoldenQuantized(t *testing.T) {
	tests := []struct {
		name string
		g    *gFile
		want map[string][]float32
	}{
		{"int8", int8Golden(), map[string][]float32{"w": {-5, -3.5, -2, -0.5, 1, 2.5}, "b": {19, 20.5}}},
		{"float16", halfGolden(), map[string][]float32{"w": {0, 0.25, 0.5, 0.75, 1, 1.25}, "b": {4, 4.25}}},
	}
	for _, tt := range tests {
		f := mustOpen(t, tt.g.build(), nil)
		if diff := cmp.Diff(tt.want, contents(t, f)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		v, _ := f.Tensor("w")
		if got := v.Info(); got.DType != tensor.Float32 || got.Compression != tt.name || got.Offset != -1 || got.Stored != -1 {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if err := verify(f); err != nil {
			t.Errorf("%s: Verify: %v", tt.name, err)
		}
	}
}

// TestGoldenEncrypted seals the weights by hand.
func TestGoldenEncrypted(t *testing.T) {
	for name, g := range map[string]*gFile{
		"plain": plainGolden(), "zstd": compressedGolden(MethodZstd, zstdRaw(plainGolden().weights)), "chunked": chunkedGolden(brotliRaw, MethodBrotli),
		"none": compressedGolden(MethodNone, plainGolden().weights),
	} {
		t.Run(name, func(t *testing.T) {
			f := mustOpen(t, encrypted(g), &format.Options{Key: testKey})
			checkGolden(t, f)
			v, _ := f.Tensor("b")
			if info := v.Info(); info.Offset != -1 || v.ZeroCopy() {
				t.Errorf("%+v", info)
			}
		})
	}
}

// TestInt8ChunksHaveTheirOwnScale: chunk by chunk, as ruled.
func TestInt8ChunksHaveTheirOwnScale(t *testing.T) {
	g := plainGolden()
	first := append(floats(1), 0, 0, 0, 0)
	first = append(first, make([]byte, 16)...)
	copy(first[8:], []byte{1, 2, 3, 4, 5, 6})
	second := append(append(floats(0.5), 2, 0, 0, 0), 0, 3)
	g.flags = 1 | 0x40
	sum := crc32.ChecksumIEEE(g.weights)
	g.comp, g.weights = chunkTable(compHeader(4, 6, 72, sum, 8), gChunk{0, first}, gChunk{64, second})
	checkGolden(t, mustOpen(t, g.build(), nil))
}

func TestShiftedSections(t *testing.T) {
	g := plainGolden()
	g.version, g.headerSize = 1, 64
	good := g.build()
	// The header as if it had 64 bytes, 16 zeros, then everything else.
	shifted := slices.Concat(good[:64], make([]byte, 16), good[64:])
	f := mustOpen(t, shifted, nil)
	checkGolden(t, f)
	if h := f.Header(); h.Shift != 16 || h.Metadata.Offset != 80 {
		t.Errorf("%+v", h)
	}
	checkGolden(t, mustOpen(t, good, nil))
	for name, mutate := range map[string]func([]byte) []byte{
		"byte 80 is not a brace": func(b []byte) []byte { b[80] = ' '; return b },
		"bytes before it":        func(b []byte) []byte { b[70] = 1; return b },
		"one byte too many":      func(b []byte) []byte { return append(b, 0) },
		"metadata offset of 72":  func(b []byte) []byte { b[8] = 72; return b },
	} {
		if _, err := OpenBytes(mutate(clone(shifted)), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestLegacySignatureIsIgnored(t *testing.T) {
	g := plainGolden()
	g.version = 1
	b := g.build()
	le.PutUint64(b[56:], 1<<40)
	f := mustOpen(t, b, nil)
	checkGolden(t, f)
	if diff := cmp.Diff([]string{"version 1 signature_offset 1099511627776 ignored", misaligned}, f.Notes()); diff != "" {
		t.Error(diff)
	}
	if f.Signature() != nil {
		t.Error("a signature")
	}
}

// TestGapsAndOrder: sections may lie in any order, with gaps between them.
func TestGapsAndOrder(t *testing.T) {
	g := plainGolden()
	b := make([]byte, 128)
	copy(b, g.build()[:128])
	for _, s := range []struct {
		pos  int
		data []byte
	}{{48, g.weights}, {16, []byte(g.metadata)}, {32, g.graph()}} {
		b = append(b, 0xEE, 0xEE, 0xEE, 0xEE)
		le.PutUint64(b[s.pos:], uint64(len(b)))
		b = append(b, s.data...)
	}
	fixSums(b)
	checkGolden(t, mustOpen(t, b, nil))
}

// TestNamesWithoutMetadata: descriptors are numbered then, placeholders too.
func TestNamesWithoutMetadata(t *testing.T) {
	for _, meta := range []string{"", `{}`, `{"a":1}`} {
		g := plainGolden()
		g.metadata = meta
		f := mustOpen(t, g.build(), nil)
		var names []string
		for name := range f.Tensors() {
			names = append(names, name)
		}
		if diff := cmp.Diff([]string{"tensor_0", "tensor_2"}, names); diff != "" {
			t.Error(diff)
		}
		all := f.IR().Tensors
		if len(all) != 4 || all[1].Name != "tensor_1" || all[1].Constant() {
			t.Errorf("%+v", all)
		}
		if meta == "" && f.Metadata() != nil {
			t.Error("metadata of nothing")
		}
	}
}

// TestSharedBytes: constants may share bytes, and bytes may be covered by none.
func TestSharedBytes(t *testing.T) {
	g := plainGolden()
	g.tensors[2] = gTensor{4, 8, []uint32{2}, 0}
	f := mustOpen(t, g.build(), nil)
	if diff := cmp.Diff(map[string][]float32{"w": {1, 2, 3, 4, 5, 6}, "b": {2, 3}}, contents(t, f)); diff != "" {
		t.Error(diff)
	}
}

// TestSharedAttributes: ranges may be shared and overlap.
func TestSharedAttributes(t *testing.T) {
	g := plainGolden()
	node := g.nodes[0]
	for range 5 {
		g.nodes = append(g.nodes, node)
	}
	for i := range g.nodes {
		g.nodes[i].attrOffset = uint32(144 + 4*56 + len(g.nodes)*208)
	}
	f := mustOpen(t, g.build(), nil)
	graph, err := f.Graph()
	if err != nil || len(graph.Nodes) != 6 {
		t.Fatal(err)
	}
	for _, n := range graph.Nodes {
		if diff := cmp.Diff([]format.Attribute{{Name: "alpha", Value: 0.5}, {Name: "axes", Value: []int64{1, 2}}}, n.Attributes); diff != "" {
			t.Error(diff)
		}
	}
}

func TestUnknownOpsAndLooseIDs(t *testing.T) {
	g := plainGolden()
	g.nodes[0].op = 999
	g.nodes[0].outputs = []uint32{77}
	f := mustOpen(t, g.build(), nil)
	graph, err := f.Graph()
	if err != nil || graph.Nodes[0].Op != "999" || graph.Nodes[0].Outputs[0] != "value_77" {
		t.Errorf("%+v, %v", graph.Nodes, err)
	}
	if diff := cmp.Diff([]string{"the graph uses ids that no tensor descriptor has", misaligned}, f.Notes()); diff != "" {
		t.Error(diff)
	}
}

// TestSparseIDs: when ids of inputs and params are as many as the descriptors,
// they are theirs in ascending order.
func TestSparseIDs(t *testing.T) {
	g := plainGolden()
	g.metadata = ""
	g.tensors = g.tensors[:3]
	g.inputs, g.outputs = []uint32{5}, []uint32{9}
	g.nodes = []gNode{{op: 1, inputs: []uint32{5}, outputs: []uint32{6}, params: []uint32{2, 8}}, {op: 2, inputs: []uint32{6}, outputs: []uint32{9}}}
	g.attributes = ""
	f := mustOpen(t, g.build(), nil)
	graph, err := f.Graph()
	if err != nil {
		t.Fatal(err)
	}
	// Ids 2, 5, 8 are descriptors 0, 1, 2.
	want := []format.Node{
		{Op: "Linear", Inputs: []string{"tensor_1", "tensor_0", "tensor_2"}, Outputs: []string{"value_6"}},
		{Op: "ReLU", Inputs: []string{"value_6"}, Outputs: []string{"value_9"}},
	}
	if diff := cmp.Diff(want, graph.Nodes, equateEmpty); diff != "" {
		t.Error(diff)
	}
}

// TestDecompressedOnce: all tensors of jointly compressed weights are parts of
// one buffer, made at the first use.
func TestDecompressedOnce(t *testing.T) {
	f := mustOpen(t, compressedGolden(MethodZstd, zstdRaw(plainGolden().weights)).build(), nil)
	if f.f.whole.done {
		t.Error("decompressed on open")
	}
	w, _ := f.Tensor("w")
	b, _ := f.Tensor("b")
	one, err := w.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	two, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if memory.Address(two)-memory.Address(one) != 64 {
		t.Error("not parts of one buffer")
	}
	f.Close()
	if _, err := w.Bytes(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if f.f.whole.b != nil {
		t.Error("kept after Close")
	}
}

// TestChunksAlone: a tensor takes its own chunks and no others.
func TestChunksAlone(t *testing.T) {
	g := chunkedGolden(zstdRaw, MethodZstd)
	b := g.build()
	at := int(le.Uint64(b[48:]))
	b[at+20] ^= 0xFF // in the first chunk
	f := mustOpen(t, b, nil)
	v, _ := f.Tensor("b")
	if x, err := tensor.Decode[float32](nil, v); err != nil || !cmp.Equal(x, []float32{-1, 0.5}) {
		t.Errorf("%v, %v", x, err)
	}
	if err := verify(f, format.WithTensors("b")); err != nil {
		t.Errorf("Verify of the good tensor: %v", err)
	}
	for _, names := range [][]string{{"w"}, {"b", "w"}, nil} {
		if err := verify(f, format.WithTensors(names...)); !errors.Is(err, format.ErrChecksum) {
			t.Errorf("Verify of %v: %v, want ErrChecksum", names, err)
		}
	}
}

// TestManyChunksOfLittle: a tensor whose chunks compress beyond what is
// plausible is put together from them, and its size is not taken on trust.
func TestManyChunksOfLittle(t *testing.T) {
	const size = 4 << 20
	for m := MethodLZ4; m <= MethodBrotli; m++ {
		o := &WriteOptions{Compression: m, Chunked: true, ChunkSize: size / 8}
		var out bytes.Buffer
		w, err := NewWriter(&out, one(tensor.Int32, size/4), o)
		if err != nil {
			t.Fatal(err)
		}
		data := bytes.Repeat([]byte{1, 2, 3, 4}, size/4)
		if err := w.WriteTensor("t", bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f := mustOpen(t, out.Bytes(), nil)
		v, _ := f.Tensor("t")
		if got, err := v.Bytes(); err != nil || !bytes.Equal(got, data) || memory.Address(got)%64 != 0 {
			t.Errorf("%v: %v", m, err)
		}
		if err := verify(f); err != nil {
			t.Errorf("%v: %v", m, err)
		}
	}
}

// TestOpenFile opens a window of a file that is closed then.
func TestOpenFile(t *testing.T) {
	file, err := os.Open(saved(t, append([]byte("before "), plainGolden().build()...)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(file, 7, -1, nil)
	file.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	checkGolden(t, f)
}

func TestUnknownTensor(t *testing.T) {
	f := mustOpen(t, plainGolden().build(), nil)
	_, err := f.Tensor("nobody")
	for _, err := range []error{err, verify(f, format.WithTensors("nobody"))} {
		var e *format.Error
		if !errors.Is(err, format.ErrNotFound) || !errors.As(err, &e) || e.Field != `tensor "nobody"` {
			t.Errorf("%v, want ErrNotFound", err)
		}
	}
	if _, err := f.Tensor("x"); !errors.Is(err, format.ErrNotFound) {
		t.Errorf("a placeholder: %v, want ErrNotFound", err)
	}
}

// TestWeightsChecksumWaits: a change of the weights does not keep a file from
// opening, but from verifying.
func TestWeightsChecksumWaits(t *testing.T) {
	b := plainGolden().build()
	b[len(b)-1] ^= 1
	f := mustOpen(t, b, nil)
	var e *format.Error
	err := verify(f)
	if !errors.Is(err, format.ErrChecksum) || !errors.As(err, &e) || e.Field != "weights_checksum" || e.Offset != 104 {
		t.Errorf("%v", err)
	}
	if _, err := OpenBytes(b, &format.Options{Check: format.CheckAll}); !errors.Is(err, format.ErrChecksum) {
		t.Errorf("CheckAll: %v", err)
	}
	// Neither structure nor graph are checked when nothing is.
	b = plainGolden().build()
	b[130] ^= 1
	if _, err := OpenBytes(b, nil); !errors.Is(err, format.ErrChecksum) {
		t.Errorf("metadata changed: %v", err)
	}
	mustOpen(t, b, &format.Options{Check: format.CheckStructure})
}

func TestReaderAtFetchesNoWeights(t *testing.T) {
	b := plainGolden().build()
	f, err := OpenReaderAt(bytes.NewReader(b[:len(b)-72]), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, _ := f.Tensor("w")
	if _, err := v.Bytes(); err == nil {
		t.Error("bytes out of nothing")
	}
}

// fetches is a reader that notes what is asked of it, and has not all of it.
type fetches struct {
	b       []byte
	ranges  [][2]int64
	missing int64 // a byte that cannot be read
}

var errMissing = errors.New("missing")

func (r *fetches) ReadAt(p []byte, off int64) (int, error) {
	r.ranges = append(r.ranges, [2]int64{off, off + int64(len(p))})
	if off <= r.missing && r.missing < off+int64(len(p)) {
		return 0, errMissing
	}
	return copy(p, r.b[off:]), nil
}

func TestFeaturesString(t *testing.T) {
	for f, want := range map[Features]string{
		0: "NONE", Compression | Signing: "COMPRESSION | SIGNING", 0xFF: "COMPRESSION | ENCRYPTION | SIGNING | STREAMING | QUANTIZATION | EXTENDED_METADATA | CHUNKED_WEIGHTS | MEMORY_MAPPING",
		0x300 | Signing: "SIGNING | 0x300",
	} {
		if diff := cmp.Diff(want, f.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCodes(t *testing.T) {
	// The table of the rulings, in its order.
	want := []string{"Linear", "ReLU", "GELU", "Softmax", "LayerNorm", "MatMul", "Add", "Mul", "Conv2D", "MaxPool2D", "BatchNorm",
		"Dropout", "Embedding", "Attention", "AvgPool2D", "Conv1D", "MaxPool1D", "AvgPool1D", "Flatten", "Reshape", "Transpose",
		"Concat", "Split", "Slice", "Pad", "DecisionTree", "TreeEnsemble", "GradientBoosting", "SVM", "NaiveBayes", "KNN",
		"Clustering", "DBSCAN", "Decomposition", "TransformerBlock", "MultiHeadAttention", "PositionalEncoding", "CrossAttention"}
	for i, name := range want {
		if op, ok := opOf(name, 2); Op(i+1).String() != name || !ok || op != Op(i+1) {
			t.Errorf("%d: %v, %v", i+1, Op(i+1), op)
		}
	}
	for name, want := range map[string]bool{"0": true, "39": true, "65535": true, "65536": false, "1": false, "07": false, "": false, "linear": false} {
		if op, ok := opOf(name, 2); ok != want || ok && op.String() != name {
			t.Errorf("opOf(%q) = %v, %v", name, op, ok)
		}
	}
	for code, want := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int8, tensor.Int32, tensor.Invalid} {
		if got := dtypeOf(uint8(code)); got != want {
			t.Errorf("dtype %d is %v", code, got)
		}
	}
}
