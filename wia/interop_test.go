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
			if _, err := f.Graph(); err != nil {
				t.Fatal(err)
			}
			ir, ok := onnx[filepath.Base(path)]
			if !ok {
				return
			}
			if d := cmp.Diff([]OperatorSet{{"ai.onnx", 13}}, f.OperatorSets()); d != "" || f.IRVersion() != ir {
				t.Errorf("version %d, sets (-want +got)\n%s", f.IRVersion(), d)
			}
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
