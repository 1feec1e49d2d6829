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

// sample is the JSON description next to a file of another exporter.
type sample struct {
	MetadataSHA256 string `json:"metadata_sha256"`
	Tensors        []struct {
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

func checkInteropGraph(t *testing.T, f *File, s *sample) {
	t.Helper()
	ir := f.IR()
	if len(ir.Nodes) != len(s.Nodes) || len(ir.Tensors) != len(s.Tensors) {
		t.Fatalf("%d nodes, %d tensors", len(ir.Nodes), len(ir.Tensors))
	}
	for i, n := range s.Nodes {
		got := ir.Nodes[i]
		if diff := cmp.Diff([][]uint32{n.Inputs, n.Outputs, n.Params},
			[][]uint32{got.Inputs, got.Outputs, got.Params}, equateEmpty); diff != "" || len(got.Attributes) != n.AttrSize {
			t.Errorf("node %d: %v, %d bytes of attributes %s", i, got.Op, len(got.Attributes), diff)
		}
		if code, ok := got.Op.code(f.Header().Version); !ok || code != n.OpType {
			t.Errorf("node %d: code %d, want %d", i, code, n.OpType)
		}
		if n.OpName != "" && !strings.EqualFold(n.OpName, got.Op.String()) {
			t.Errorf("node %d: operator %v, want %s", i, got.Op, n.OpName)
		}
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
	// Ids 0, 1, 2, 5, 6, 9, 10 are descriptors 0 to 6; ids 3, 4, 7, 8, 11 have none.
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
