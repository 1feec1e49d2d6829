package mle

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

func mustOpen(t testing.TB, b []byte, o *format.Options) *File {
	t.Helper()
	f, err := openBytes(b, o)
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// checkGolden checks the graph and the metadata of all variants of plainGolden.
func checkGolden(t *testing.T, f *File) {
	t.Helper()
	wantGraph := &schema.Graph{
		Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 3)}},
		Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
		Nodes: []schema.Node{{Op: "Linear", Inputs: []string{"x", "w", "b"}, Outputs: []string{"y"}, Attributes: []schema.Attribute{
			{Name: "alpha", Value: 0.5}, {Name: "axes", Value: []int64{1, 2}},
		}}},
	}
	g, err := f.Graph()
	if diff := cmp.Diff(wantGraph, g, equateEmpty); err != nil || diff != "" {
		t.Error(err, diff)
	}
	wantMeta := schema.Metadata{{Key: "model_name", Value: "m"}, {Key: "tensor_names", Value: json.RawMessage(`["w","x","b","y"]`)}}
	expect.Equal(t, wantMeta, expect.Got(t, f.Metadata))
}

// misaligned is the note about files without gaps.
const misaligned = "2 tensors are not aligned: views are copies"

// TestGolden checks graph, metadata, notes and the storage of tensors, which the corpus
// does not check.
func TestGolden(t *testing.T) {
	old := with(func(g *gFile) { g.version = 1 })
	packed := chunkedGolden(corpus.Zstd, MethodZstd)
	for _, tt := range []struct {
		name          string
		g             *gFile
		stored        int64
		notes         []string
		version, kind string
	}{
		{"plain", plainGolden(), 8, []string{misaligned}, "2", ""},
		{"version 1", old, 8, []string{misaligned}, "1", ""},
		{"zstd", zstdGolden(), -1, nil, "2", "zstd"},
		{"chunks", packed, int64(len(corpus.Zstd(plainGolden().weights[64:]))), nil, "2", "zstd"},
		{"type 0", compressedGolden(MethodNone, plainGolden().weights), 8, []string{misaligned}, "2", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, tt.g.build(), nil)
			checkGolden(t, f)
			want := tensor.Info{Name: "b", DType: tensor.Float32, Shape: tensor.Shape{2}, Offset: -1, Size: 8, Stored: tt.stored, Compression: tt.kind}
			if tt.kind == "" {
				want.Offset = f.Header().Weights.Offset + 64
			}
			expect.Equal(t, want, view(t, f, "b").Info())
			if diff := cmp.Diff(tt.notes, f.Notes()); diff != "" || f.Version() != tt.version {
				t.Error(f.Version(), diff)
			}
		})
	}
}

// int8Golden returns a file with two adjacent float tensors, stored as 8-bit integers.
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

// TestSparseIDs checks that ids of inputs and params, if as many as the descriptors, refer
// to these in ascending order.
func TestSparseIDs(t *testing.T) {
	g := plainGolden()
	g.metadata = ""
	g.tensors = g.tensors[:3]
	g.inputs, g.outputs = []uint32{5}, []uint32{9}
	g.nodes = []gNode{{op: 1, inputs: []uint32{5}, outputs: []uint32{6}, params: []uint32{2, 8}}, {op: 2, inputs: []uint32{6}, outputs: []uint32{9}}}
	g.attributes = ""
	f := mustOpen(t, g.build(), nil)
	graph, err := f.Graph()
	expect.OK(t, err)
	// Ids 2, 5, 8 are descriptors 0, 1, 2.
	want := []schema.Node{
		{Op: "Linear", Inputs: []string{"tensor_1", "tensor_0", "tensor_2"}, Outputs: []string{"value_6"}},
		{Op: "ReLU", Inputs: []string{"value_6"}, Outputs: []string{"value_9"}},
	}
	expect.Equal(t, want, graph.Nodes, equateEmpty)
}

// TestManyChunksOfLittle checks a tensor whose chunks have an implausible compression
// ratio: it can be read, but its size is proved before memory is allocated.
func TestManyChunksOfLittle(t *testing.T) {
	const size = 4 << 20
	for _, m := range lossless {
		o := &format.WriteOptions{Compression: m.Name(), Format: Format{Chunked: true, ChunkSize: size / 8}}
		data := bytes.Repeat([]byte{1, 2, 3, 4}, size/4)
		f := mustOpen(t, writtenWith(t, one(tensor.Int32, size/4), o, data), nil)
		v, _ := f.Tensor("t")
		if got, err := v.Bytes(); err != nil || !bytes.Equal(got, data) || memory.Address(got)%64 != 0 {
			t.Errorf("%v: %v", m, err)
		}
		if err := verify(f); err != nil {
			t.Errorf("%v: %v", m, err)
		}
	}
}

// TestStructureLimit checks that metadata too large for memory is refused.
func TestStructureLimit(t *testing.T) {
	b := plainGolden().build()[:headerText]
	const size = driver.MaxStructure
	for pos, v := range map[int]uint64{16: headerText, 24: size, 32: headerText + size, 40: 144, 48: headerText, 56: 0} {
		le.PutUint64(b[pos:], v)
	}
	fixHeader(b)
	var e *tensor.Error
	if _, err := openReaderAt(corpus.Beginning(b), headerText+size+144, nil); !errors.Is(err, format.ErrLimit) || !errors.As(err, &e) || e.Field != "header" {
		t.Error(err)
	}
}
