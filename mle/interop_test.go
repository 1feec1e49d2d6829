package mle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

// sample is what the JSON next to a file from the field says of it.
type sample struct {
	FileSize     int64 `json:"file_size"`
	AppliedShift int64 `json:"applied_shift"`
	Header       struct {
		Version           uint32
		FeatureFlags      uint32 `json:"feature_flags"`
		HeaderSize        uint32 `json:"header_size"`
		MetadataOffset    int64  `json:"metadata_offset"`
		MetadataSize      int64  `json:"metadata_size"`
		GraphOffset       int64  `json:"graph_offset"`
		GraphSize         int64  `json:"graph_size"`
		WeightsOffset     int64  `json:"weights_offset"`
		WeightsSize       int64  `json:"weights_size"`
		SignatureOffset   int64  `json:"signature_offset"`
		SignatureSize     int64  `json:"signature_size"`
		CompressionOffset int64  `json:"compression_offset"`
		CompressionSize   int64  `json:"compression_size"`
		MetadataChecksum  uint32 `json:"metadata_checksum"`
		GraphChecksum     uint32 `json:"graph_checksum"`
		WeightsChecksum   uint32 `json:"weights_checksum"`
		HeaderChecksum    uint32 `json:"header_checksum"`
		MinReaderVersion  uint32 `json:"min_reader_version"`
		WriterVersion     uint32 `json:"writer_version"`
	}
	Compression *struct {
		Type             uint8
		Level            uint8
		UncompressedSize int64 `json:"uncompressed_size"`
		Checksum         uint32
		QuantizationBits uint8 `json:"quantization_bits"`
	}
	Signature *struct {
		Timestamp int64
		PublicKey string `json:"public_key"`
	}
	MetadataSHA256 string `json:"metadata_sha256"`
	Graph          struct {
		NumNodes   int      `json:"num_nodes"`
		NumTensors int      `json:"num_tensors"`
		InputIDs   []uint32 `json:"input_ids"`
		OutputIDs  []uint32 `json:"output_ids"`
	}
	Tensors []struct {
		ID          int
		DType       uint8
		Shape       []int64
		Offset      int64
		Size        int64
		SHA256      string
		Placeholder bool
	}
	Nodes []struct {
		OpType                  uint16 `json:"op_type"`
		OpName                  string `json:"op_name"`
		Inputs, Outputs, Params []uint32
		AttrSize                int `json:"attr_size"`
	}
}

const interopDir = "../../shared/interop/mle"

func interopFiles(t testing.TB) []string {
	paths, _ := filepath.Glob(interopDir + "/*.mle")
	if len(paths) == 0 {
		t.Skip("the files from the field are not here")
	}
	return paths
}

func readSample(t *testing.T, path string) *sample {
	t.Helper()
	b, err := os.ReadFile(strings.TrimSuffix(path, ".mle") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var s sample
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestInterop(t *testing.T) {
	for _, path := range interopFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := readSample(t, path)
			f, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			checkInteropHeader(t, f, s)
			checkInteropGraph(t, f, s)
			checkInteropTensors(t, f, s)
			if err := verify(f); err != nil {
				t.Errorf("Verify: %v", err)
			}
			if sum := sha256.Sum256(f.MetadataJSON()); hex.EncodeToString(sum[:]) != s.MetadataSHA256 {
				t.Error("the metadata has another hash")
			}
		})
	}
}

func checkInteropHeader(t *testing.T, f *File, s *sample) {
	t.Helper()
	h, w := f.Header(), s.Header
	want := Header{
		Version: w.Version, Features: Features(w.FeatureFlags), HeaderSize: max(w.HeaderSize, headerV1),
		Metadata:    Section{w.MetadataOffset + s.AppliedShift, w.MetadataSize},
		Graph:       Section{w.GraphOffset + s.AppliedShift, w.GraphSize},
		Weights:     Section{w.WeightsOffset + s.AppliedShift, w.WeightsSize},
		Signature:   Section{w.SignatureOffset, w.SignatureSize},
		Compression: Section{w.CompressionOffset, w.CompressionSize},

		MetadataChecksum: w.MetadataChecksum, GraphChecksum: w.GraphChecksum,
		WeightsChecksum: w.WeightsChecksum, HeaderChecksum: w.HeaderChecksum,
		MinReaderVersion: w.MinReaderVersion, WriterVersion: w.WriterVersion, Shift: s.AppliedShift,
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Error(diff)
	}
	if c := s.Compression; c != nil {
		got, ok := f.Compression()
		want := CompressionInfo{Method: Method(c.Type), Level: c.Level, QuantizationBits: c.QuantizationBits,
			Uncompressed: c.UncompressedSize, Stored: w.WeightsSize, Checksum: c.Checksum}
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Error(ok, diff)
		}
	}
}

func checkInteropGraph(t *testing.T, f *File, s *sample) {
	t.Helper()
	ir := f.IR()
	if diff := cmp.Diff([][]uint32{s.Graph.InputIDs, s.Graph.OutputIDs}, [][]uint32{ir.Inputs, ir.Outputs}); diff != "" {
		t.Error(diff)
	}
	if len(ir.Nodes) != s.Graph.NumNodes || len(ir.Tensors) != s.Graph.NumTensors {
		t.Fatalf("%d nodes, %d tensors", len(ir.Nodes), len(ir.Tensors))
	}
	for i, n := range s.Nodes {
		got := ir.Nodes[i]
		if diff := cmp.Diff([][]uint32{n.Inputs, n.Outputs, n.Params},
			[][]uint32{got.Inputs, got.Outputs, got.Params}, equateEmpty); diff != "" || len(got.Attributes) != n.AttrSize {
			t.Errorf("node %d: %v, %d bytes of attributes %s", i, got.Op, len(got.Attributes), diff)
		}
		if code, ok := got.Op.code(s.Header.Version); !ok || code != n.OpType {
			t.Errorf("node %d: code %d, want %d", i, code, n.OpType)
		}
		if n.OpName != "" && !strings.EqualFold(n.OpName, got.Op.String()) {
			t.Errorf("node %d: operator %v, want %s", i, got.Op, n.OpName)
		}
	}
	g, err := f.Graph()
	if err != nil || len(g.Nodes) != s.Graph.NumNodes {
		t.Errorf("Graph: %v", err)
	}
}

func checkInteropTensors(t *testing.T, f *File, s *sample) {
	t.Helper()
	all := f.IR().Tensors
	if len(s.Tensors) == 0 {
		t.Fatal("no tensors")
	}
	for i, want := range s.Tensors {
		d := all[i]
		if d.Code != want.DType || d.Size != want.Size || d.Constant() == want.Placeholder {
			t.Errorf("descriptor %d: %+v", i, d)
		}
		if diff := cmp.Diff(want.Shape, []int64(d.Shape), equateEmpty); diff != "" {
			t.Errorf("descriptor %d: %s", i, diff)
		}
		v, err := f.Tensor(d.Name)
		if want.Placeholder != errors.Is(err, format.ErrNotFound) {
			t.Errorf("Tensor(%q): %v", d.Name, err)
		}
		if want.Placeholder {
			continue
		}
		err = v.Use(func(b []byte) error {
			if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != want.SHA256 {
				t.Errorf("tensor %s: another hash", d.Name)
			}
			return nil
		})
		if err != nil {
			t.Errorf("tensor %s: %v", d.Name, err)
		}
	}
}

func TestInteropSparse(t *testing.T) {
	f, err := Open(filepath.Join(interopDir, "example_model.mle"), nil)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	g, err := f.Graph()
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, n := range g.Nodes {
		got = append(got, append(append([]string{n.Op}, n.Inputs...), n.Outputs...))
	}
	// Ids 0, 1, 2, 5, 6, 9, 10 are descriptors 0 to 6; 3, 4, 7, 8, 11 have none.
	want := [][]string{
		{"Linear", "tensor_0", "tensor_1", "tensor_2", "value_3"}, {"ReLU", "value_3", "value_4"},
		{"Linear", "value_4", "tensor_3", "tensor_4", "value_7"}, {"ReLU", "value_7", "value_8"},
		{"Linear", "value_8", "tensor_5", "tensor_6", "value_11"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"sections are 16 bytes behind the offsets in the header", "the graph uses ids that no tensor descriptor has", "7 tensors are not aligned: views are copies",
	}, f.Notes()); diff != "" {
		t.Error(diff)
	}
	if got := g.Inputs[0]; got.Name != "tensor_0" || !cmp.Equal(got.Dims, format.FixedDims(1, 128)) {
		t.Errorf("input %+v", got)
	}
}
