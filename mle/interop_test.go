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
			if b, err := rewritten(t, f, 2, false); err != nil {
				t.Error(err)
			} else if diff := cmp.Diff(nodeOperands(f), nodeOperands(mustOpen(t, b, nil)), equateEmpty); diff != "" {
				t.Errorf("the nodes of a copy: %s", diff)
			}
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
