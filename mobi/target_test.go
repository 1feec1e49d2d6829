package mobi

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testmodel"
	"github.com/weightmap/weightmap/tensor"
)

// target is one of the two models of the specification with what it demands.
type target struct {
	name    string
	tensors func() []testmodel.Tensor
	ms      float64 // to load
	mb      float64 // of the file, 10^6 bytes
}

var targets = []target{
	{"mnist", sync.OnceValue(testmodel.MNIST), 50, 2},
	{"cifar", sync.OnceValue(testmodel.CIFAR), 100, 5},
}

// float32Size is the size of the model's original.
func (g *target) float32Size() (n int64) {
	for _, t := range g.tensors() {
		n += 4 * int64(len(t.Data))
	}
	return n
}

// encoded returns the file of a model quantized to a dtype: matrices and
// kernels with a scale per output channel, vectors with one scale.
func (g *target) encoded(t testing.TB, d tensor.DType, level int) []byte {
	t.Helper()
	c := &Config{Name: g.name, Time: time.Unix(1_700_000_000, 0), Gzip: level,
		Inputs: []Spec{NewSpec("image", Float32, -1, 28, 28)}, Outputs: []Spec{NewSpec("scores", Float32, -1, 10)}}
	for i, m := range g.tensors() {
		o := tensor.QuantizeOptions{DType: d, PerChannel: len(m.Shape) > 1}
		data, quant, _, err := tensor.Quantize(m.Data, m.Shape, o)
		if err != nil {
			t.Fatal(err)
		}
		c.Constants = append(c.Constants, Constant{ID: uint32(i), DType: d, Shape: m.Shape, Data: data, Quant: quant})
		c.consume(m.Name, uint32(i))
	}
	b, err := c.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// consume adds a constant to the operator of its layer, the part of its name
// before the dot; each layer feeds the next.
func (c *Config) consume(name string, id uint32) {
	layer, _, _ := strings.Cut(name, ".")
	const values = 1000 // ids between layers begin here
	n := len(c.Operators)
	if n > 0 && c.Operators[n-1].Params[0].Value == layer {
		c.Operators[n-1].Inputs = append(c.Operators[n-1].Inputs, id)
		return
	}
	typ := FullyConnected
	switch {
	case strings.HasPrefix(layer, "conv"):
		typ = Conv2D
	case strings.HasPrefix(layer, "bn"):
		typ = BatchNorm
	}
	c.Operators = append(c.Operators, Operator{Type: typ, Inputs: []uint32{uint32(values + n), id}, Outputs: []uint32{uint32(values + n + 1)},
		Params: []Param{{"layer", layer}}})
}

var targetTypes = []tensor.DType{tensor.Int8, tensor.Int16, tensor.Float16}

// TestTargetSizes: the files meet the specification's sizes, and half of the
// float32 original. (Types of 16 bits are exactly half of it; without
// compression headers, operators and scales come on top.)
func TestTargetSizes(t *testing.T) {
	if raceEnabled {
		t.Skip("nothing happens at the same time here, and quantizing takes long under the race detector")
	}
	for _, g := range targets {
		for _, d := range targetTypes {
			for _, level := range []int{0, 6} {
				t.Run(fmt.Sprintf("%s/%v/gzip%d", g.name, d, level), func(t *testing.T) {
					b := g.encoded(t, d, level)
					limit := g.float32Size() / 2
					if level == 0 && d.Size() == 2 {
						limit += overhead(t, b)
					}
					if size := int64(len(b)); size > limit || float64(size) >= g.mb*1e6 {
						t.Errorf("%d bytes, %.1f %% of float32; at most %d and %v MB", size, 100*float64(size)/float64(g.float32Size()), limit, g.mb)
					}
					if err := ValidateBytes(b); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// overhead returns the bytes of a file that are not tensor data.
func overhead(t *testing.T, b []byte) int64 {
	n := int64(len(b))
	for _, v := range openImage(t, b).Tensors() {
		n -= v.Info().Size
	}
	return n
}

// BenchmarkTargets loads the models of the specification and prints its
// targets next to the figures: opening, both checksums verified, and a look at
// every weight. x-floor is how many times as long that takes as mapping the
// file and reading every byte of it (for the header: mapping it), done by turns in the
// same run.
func BenchmarkTargets(b *testing.B) {
	for _, g := range targets {
		for _, d := range targetTypes {
			for _, level := range []int{0, 6} {
				path := filepath.Join(b.TempDir(), g.name+extension)
				file := g.encoded(b, d, level)
				if err := os.WriteFile(path, file, 0o644); err != nil {
					b.Fatal(err)
				}
				kind := map[int]string{0: "plain", 6: "gzip"}[level]
				b.Run(fmt.Sprintf("%s/%v/%s/load", g.name, d, kind), func(b *testing.B) {
					byTurns(b, g.ms, path, loadAll, bareRead)
					b.ReportMetric(float64(len(file))/1e6, "MB")
					b.ReportMetric(g.mb, "target-MB")
					b.ReportMetric(100*float64(len(file))/float64(g.float32Size()), "size-%-of-float32")
				})
				b.Run(fmt.Sprintf("%s/%v/%s/header", g.name, d, kind), func(b *testing.B) { byTurns(b, 1, path, openOnly, bareMap) })
			}
		}
	}
}

// byTurns measures f and its floor, one after the other.
func byTurns(b *testing.B, targetMS float64, path string, f, bare func(path string) (uint64, error)) {
	b.ReportAllocs()
	var mine, floor time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := f(path); err != nil {
			b.Fatal(err)
		}
		mine += time.Since(start)
		b.StopTimer()
		start = time.Now()
		if _, err := bare(path); err != nil {
			b.Fatal(err)
		}
		floor += time.Since(start)
		b.StartTimer()
	}
	ms := mine.Seconds() * 1e3 / float64(b.N)
	b.ReportMetric(ms, "ms")
	b.ReportMetric(targetMS, "target-ms")
	b.ReportMetric(targetMS/ms, "times-under-target")
	b.ReportMetric(mine.Seconds()/floor.Seconds(), "x-floor")
}

// openOnly opens a file and uses no weight, so that the footer is not read.
func openOnly(path string) (uint64, error) {
	f, err := Open(path, nil)
	if err != nil {
		return 0, err
	}
	return uint64(f.Len()), f.Close()
}

// loadAll opens a file and looks at every weight, the first time after its footer.
func loadAll(path string) (sum uint64, err error) {
	f, err := Open(path, nil)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for _, v := range f.Tensors() {
		err := v.Use(func(b []byte) error {
			sum += look(b)
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// bareMap maps the file and unmaps it.
func bareMap(path string) (uint64, error) {
	r, err := source.Open(path, source.Options{})
	if err != nil {
		return 0, err
	}
	return 0, r.Close()
}

// bareRead maps the file and reads every byte.
func bareRead(path string) (uint64, error) {
	r, err := source.Open(path, source.Options{})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return look(r.Bytes()), nil
}

// look reads every byte.
func look(b []byte) uint64 { return uint64(bytes.Count(b, []byte{0})) }
