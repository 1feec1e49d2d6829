package gomlx

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// written writes a model of n float32 weights and three int64 ids.
func written(t testing.TB, n int) string {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	weights := make([]float32, n)
	for i := range weights {
		weights[i] = float32(i % 1000)
	}
	w, err := tensor.Of("w", tensor.Shape{int64(n / 4), 4}, weights)
	expect.OK(t, err)
	ids, err := tensor.Of("ids", tensor.Shape{3}, []int64{1, -2, 3})
	expect.OK(t, err)
	none, err := tensor.Of("none", tensor.Shape{0, 2}, []float32{})
	expect.OK(t, err)
	expect.OK(t, format.Save(t.Context(), path, nil, []tensor.View{w, ids, none}, nil))
	return path
}

func open(t testing.TB, path string) *format.Model {
	m, err := safetensors.Open(path, nil)
	expect.OK(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// TestTensors compares what is loaded with what was written.
func TestTensors(t *testing.T) {
	loaded, err := Tensors(open(t, written(t, 4000)))
	expect.OK(t, err)
	expect.Equal(t, []int64{1, -2, 3}, tensors.MustCopyFlatData[int64](loaded["ids"]))
	w := tensors.MustCopyFlatData[float32](loaded["w"])
	if diff := cmp.Diff([]int{1000, 4}, loaded["w"].Shape().Dimensions); diff != "" || len(w) != 4000 || w[3999] != 999 {
		t.Error(len(w), diff)
	}
}

// TestConstants computes with the mapping.
func TestConstants(t *testing.T) {
	b, c := constants(t, open(t, written(t, 4000)))
	program, err := b.Compile([]backends.Op{c["ids"]}, nil)
	expect.OK(t, err)
	out, err := program.Execute(nil, nil, 0)
	expect.OK(t, err)
	got := make([]int64, 3)
	expect.OK(t, engine.BufferToFlatData(out[0], got))
	expect.Equal(t, []int64{1, -2, 3}, got)
}

var engine, _ = simplego.New("ops_sequential,parallelism=0")

func constants(t testing.TB, m *format.Model) (backends.Builder, map[string]backends.Op) {
	b := engine.Builder("weights")
	c, err := Constants(b, m)
	expect.OK(t, err)
	return b, c
}

// TestCopies measures the bytes that each way allocates, relative to the weights.
func TestCopies(t *testing.T) {
	const n = 4 << 20
	path := written(t, n)
	for _, way := range []struct {
		name        string
		least, most float64
		load        func() error
	}{
		{"constants of the mapping", 0, 0.01, func() error { constants(t, open(t, path)); return nil }},
		{"tensors of GoMLX", 1, 1.01, func() error { _, err := Tensors(open(t, path)); return err }},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		expect.OK(t, way.load())
		runtime.ReadMemStats(&after)
		ratio := float64(after.TotalAlloc-before.TotalAlloc) / (4 * n)
		if t.Logf("%-26s %.2f times the bytes of the weights", way.name, ratio); ratio < way.least || ratio > way.most {
			t.Errorf("%s: %.2f, not %v to %v", way.name, ratio, way.least, way.most)
		}
	}
}
