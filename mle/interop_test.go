package mle

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// sampleTensor is a descriptor in the JSON description next to a file of another exporter.
type sampleTensor struct {
	DType       uint8
	Shape       []int64
	Size        int64
	SHA256      string
	Placeholder bool
}

// TestInterop compares files of other exporters with their descriptions, and with their
// copies.
func TestInterop(t *testing.T) {
	paths, _ := filepath.Glob("../../shared/interop/mle/*.mle")
	if len(paths) == 0 {
		t.Skip("the files from the field are not here")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text := expect.Read(t, strings.TrimSuffix(path, ".mle")+".json")
			var want, got struct {
				MetadataSHA256 string `json:"metadata_sha256"`
				Tensors        []sampleTensor
			}
			expect.OK(t, json.Unmarshal(text, &want))
			f, err := Open(path, nil)
			expect.OK(t, err)
			defer f.Close()
			got.MetadataSHA256 = fmt.Sprintf("%x", sha256.Sum256(f.MetadataJSON()))
			for _, d := range f.IR().Tensors {
				s := sampleTensor{d.Code, d.Shape, d.Size, "", !d.Constant()}
				if v, err := f.Tensor(d.Name); err == nil {
					b, err := v.Bytes()
					if s.SHA256 = fmt.Sprintf("%x", sha256.Sum256(b)); err != nil {
						t.Error(err)
					}
				}
				got.Tensors = append(got.Tensors, s)
			}
			expect.Equal(t, want, got, equateEmpty)
			expect.OK(t, verify(f))
			b, err := rewritten(t, f, 2, false)
			expect.OK(t, err)
			expect.Equal(t, nodeOperands(f), nodeOperands(mustOpen(t, b, nil)), equateEmpty)
		})
	}
}
