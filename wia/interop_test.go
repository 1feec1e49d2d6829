package wia

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

// TestInterop reads files whose blocks were made by other protobuf libraries. A
// JSON file next to each describes it. Operator sets of the ONNX models are only
// in their metadata.
func TestInterop(t *testing.T) {
	files, _ := filepath.Glob("../../shared/interop/wia/*.wia")
	if len(files) == 0 {
		t.Skip("no files by other implementations here")
	}
	onnx := map[string]int64{"onnx_mlp.wia": 7, "onnx_if.wia": 8}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			asDescribed(t, f, strings.TrimSuffix(path, ".wia")+".json")
			if err := verify(f); err != nil && f.f.signature != nil {
				t.Error(err)
			}
			g, err := f.Graph()
			if err != nil {
				t.Fatal(err)
			}
			ir, ok := onnx[filepath.Base(path)]
			if !ok {
				return
			}
			if d := cmp.Diff([]OperatorSet{{"ai.onnx", 13}}, f.OperatorSets()); d != "" || f.IRVersion() != ir {
				t.Errorf("version %d, sets (-want +got)\n%s", f.IRVersion(), d)
			}
			copied(t, f, g)
		})
	}
}

// asDescribed compares the tensors with their description in the JSON file.
func asDescribed(t *testing.T, f *File, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Tensors []struct {
			Name, DType string
			Shape       []int64
			SHA256      string
		}
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for _, w := range want.Tensors {
		v, err := f.Tensor(w.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		b, err := v.Bytes()
		sum := sha256.Sum256(b)
		if err != nil || v.DType().String() != w.DType || !cmp.Equal(w.Shape, []int64(v.Shape())) || hex.EncodeToString(sum[:]) != w.SHA256 {
			t.Errorf("%s: %v %v, %v", w.Name, v.DType(), v.Shape(), err)
		}
	}
}

// copied copies f and compares the graph of the copy with g, and the versions.
func copied(t *testing.T, f *File, g *format.Graph) {
	t.Helper()
	p, err := format.PlanOf(f.Model)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.wia")
	w, err := Create(path, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Copy(w, f.Model); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	h, err := again.Graph()
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Nodes) != len(g.Nodes) || len(h.Inputs) != len(g.Inputs) || len(h.Outputs) != len(g.Outputs) {
		t.Errorf("%d nodes, %d inputs, %d outputs of %d, %d, %d", len(h.Nodes), len(h.Inputs), len(h.Outputs), len(g.Nodes), len(g.Inputs), len(g.Outputs))
	}
	if d := cmp.Diff(f.OperatorSets(), again.OperatorSets()); d != "" || f.IRVersion() != again.IRVersion() {
		t.Errorf("version %d, sets (-want +got)\n%s", again.IRVersion(), d)
	}
	if err := verify(again); err != nil {
		t.Error(err)
	}
}
