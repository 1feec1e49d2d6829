package mle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testmodel"
	"github.com/weightmap/weightmap/internal/work"
)

// benchModel is a model to measure with.
type benchModel struct {
	name  string
	specs []testmodel.Tensor
	graph *format.Graph
}

func benchModels() []benchModel {
	return []benchModel{{name: "mnist", specs: testmodel.MNIST()}, {name: "cifar", specs: testmodel.CIFAR()}}
}

func largeModel() benchModel {
	return benchModel{name: "100MB", specs: testmodel.All(testmodel.Large())}
}

// withGraph returns the model with a node for each tensor, and so a placeholder: a chain
// whose nodes have attributes, all the same or each its own.
func (m benchModel) withGraph(name string, own bool) benchModel {
	m.name, m.graph = name, &format.Graph{Inputs: []format.ValueInfo{{Name: "input"}}}
	value := "input"
	for i, t := range m.specs {
		attrs := []format.Attribute{{Name: "transB", Value: int64(1)}, {Name: "alpha", Value: 1.5}, {Name: "kernel_shape", Value: []int64{3, 3}}}
		if own {
			attrs = append(attrs, format.Attribute{Name: "layer", Value: int64(i)})
		}
		next := fmt.Sprintf("experts.%d.linear.output", i)
		m.graph.Nodes = append(m.graph.Nodes, format.Node{Op: "MatMul", Inputs: []string{value, t.Name}, Outputs: []string{next}, Attributes: attrs})
		value = next
	}
	m.graph.Outputs = []format.ValueInfo{{Name: value}}
	return m
}

// file writes the model with the given options.
func (m benchModel) file(b *testing.B, o WriteOptions) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "m.mle")
	p := &format.Plan{Metadata: format.Metadata{{Key: "model_name", Value: m.name}}, Graph: m.graph}
	for _, t := range m.specs {
		p.Tensors = append(p.Tensors, t.Info())
	}
	o.NoSync = true
	w, err := Create(path, p, &o)
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range m.specs {
		if err := w.WriteTensor(t.Name, bytes.NewReader(t.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

func mustOpenPath(b *testing.B, path string) *File {
	b.Helper()
	f, err := Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

// BenchmarkOpen compares opening and closing with opening, mapping, unmapping and
// closing the file by bare system calls.
func BenchmarkOpen(b *testing.B) {
	many := benchModel{name: "10000 tensors", specs: testmodel.All(testmodel.Many())}
	models := append(benchModels(), largeModel(), benchModel{name: "small", specs: testmodel.Small()}, many,
		many.withGraph("10000 nodes", true), many.withGraph("10000 nodes alike", false))
	for _, m := range models {
		path := m.file(b, WriteOptions{})
		for name, check := range map[string]format.Check{m.name: format.CheckDefault, m.name + "/no checksums": format.CheckStructure} {
			b.Run(name, func(b *testing.B) {
				floor.Pairs(b, floor.Rounds, func() error {
					f, err := Open(path, &format.Options{Check: check})
					if err != nil {
						return err
					}
					return f.Close()
				}, func() error { return floor.Map(path) })
			})
		}
	}
}

// BenchmarkHeader parses the header alone.
func BenchmarkHeader(b *testing.B) {
	file, err := os.ReadFile(benchModels()[0].file(b, WriteOptions{}))
	if err != nil {
		b.Fatal(err)
	}
	src := bytesSource{source.FromBytes(file)}
	b.ReportAllocs()
	for b.Loop() {
		f := &parsed{src: src}
		if err := f.readHeader(true); err != nil {
			b.Fatal(err)
		}
	}
}

// bytesSource is a driver.Source without a directory.
type bytesSource struct{ *source.Region }

func (bytesSource) Path() string             { return "" }
func (bytesSource) Dir() (driver.Dir, error) { return nil, driver.ErrUnsupported }

// methodsToMeasure are the methods and level classes of the table.
var methodsToMeasure = []struct {
	m     Method
	level int
}{
	{MethodNone, 1}, {MethodLZ4, 1}, {MethodLZ4, 9}, {MethodZstd, 1}, {MethodZstd, 6}, {MethodZstd, 9},
	{MethodBrotli, 1}, {MethodBrotli, 6}, {MethodInt8, 6}, {MethodFloat16, 6},
}

// BenchmarkLoad opens and touches all weights: plain ones are read where they
// lie, compressed ones decompressed. The base is the read bound, summing all
// bytes of a mapping, and for codecs the library alone on the same weights.
func BenchmarkLoad(b *testing.B) {
	for _, model := range append(benchModels(), largeModel()) {
		for _, how := range methodsToMeasure {
			if how.m == MethodBrotli && how.level > 5 && model.name != "mnist" || how.level > 6 && model.name == "100MB" {
				continue // minutes to compress
			}
			path := model.file(b, WriteOptions{Compression: how.m, Level: how.level})
			f := mustOpenPath(b, path)
			size, base := f.weightsSize(), loadFloor(f)
			f.Close()
			b.Run(fmt.Sprintf("%s/%v/%d", model.name, how.m, how.level), func(b *testing.B) {
				b.SetBytes(size)
				st, err := os.Stat(path)
				if err != nil {
					b.Fatal(err)
				}
				floor.Pairs(b, floor.Rounds, func() error { return loadAll(path) }, base)
				b.ReportMetric(float64(st.Size()), "file-bytes")
				b.ReportMetric(float64(size)/float64(st.Size()), "ratio")
			})
		}
	}
}

func (f *File) weightsSize() int64 {
	if f.f.comp != nil {
		return f.f.comp.size
	}
	return f.f.h.Weights.Size
}

var checksum byte

// touch reads a byte of every cache line.
func touch(p []byte) {
	sum := byte(0)
	for i := 0; i < len(p); i += 64 {
		sum += p[i]
	}
	checksum += sum
}

func loadAll(path string) error {
	f, err := Open(path, nil)
	if err != nil {
		return err
	}
	for _, v := range f.Tensors() {
		p, err := v.Bytes()
		if err != nil {
			return err
		}
		touch(p)
	}
	return f.Close()
}

// loadFloor does what cannot be avoided: mapping, and touching or
// decompressing all weights with the library.
func loadFloor(f *File) func() error {
	path, s, comp := f.Path(), f.f.h.Weights, f.f.comp
	return func() error {
		r, err := source.Open(path, source.Options{})
		if err != nil {
			return err
		}
		defer r.Close()
		in := r.Bytes()[s.Offset:s.End()]
		switch {
		case comp == nil:
			touch(in)
		case comp.method.lossy():
			return expand(comp.method, memory.Aligned(int(comp.size)), in)
		default:
			c, _ := codecOf(comp.method)
			out, err := c.Decompress(in, comp.size)
			touch(out)
			return err
		}
		return nil
	}
}

// BenchmarkVerify checks everything of an open file.
func BenchmarkVerify(b *testing.B) {
	m := largeModel()
	for name, o := range map[string]WriteOptions{
		"plain": {}, "signed": {Signer: testSigner}, "zstd": {Compression: MethodZstd, Level: 1}, "zstd chunked": {Compression: MethodZstd, Level: 1, Chunked: true},
	} {
		path := m.file(b, o)
		f := mustOpenPath(b, path)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(f.weightsSize())
			for b.Loop() {
				if err := verify(f); err != nil {
					b.Fatal(err)
				}
			}
		})
		f.Close()
	}
}

// BenchmarkChunks measures chunked weights of the large model: one tensor
// against its bare decompression, and all of them by one and two goroutines.
func BenchmarkChunks(b *testing.B) {
	m := largeModel()
	for _, method := range []Method{MethodLZ4, MethodZstd} {
		path := m.file(b, WriteOptions{Compression: method, Level: 1, Chunked: true})
		f := mustOpenPath(b, path)
		defer f.Close()
		i, _ := f.f.index.Lookup("blocks.3.mlp.up.weight")
		off, n := f.f.lazy[i], f.f.index.Size(i)
		b.Run(fmt.Sprintf("%v/one tensor", method), func(b *testing.B) {
			b.SetBytes(n)
			floor.Pairs(b, floor.Rounds, func() error {
				_, err := f.f.loadChunks(off, n, 1)
				return err
			}, func() error { return bareChunks(f, off, n) })
		})
		all := func(workers int) func() error {
			return func() error { return verify(f, format.WithWorkers(workers)) }
		}
		b.Run(fmt.Sprintf("%v/all by two over one", method), func(b *testing.B) {
			b.SetBytes(f.f.comp.size)
			floor.Pairs(b, floor.Rounds, all(2), all(1))
		})
		b.Run(fmt.Sprintf("%v/all tensors by two over one", method), func(b *testing.B) {
			b.SetBytes(f.f.comp.size)
			load := func(workers int) func() error {
				return func() error { return loadTensors(path, workers) }
			}
			floor.Pairs(b, floor.Rounds, load(2), load(1))
		})
	}
}

// loadTensors opens a file and asks for every tensor, as a program does that
// loads a model: each goroutine gets memory for its own tensors.
func loadTensors(path string, workers int) error {
	f, err := Open(path, nil)
	if err != nil {
		return err
	}
	defer f.Close()
	return work.Each(context.Background(), f.Len(), workers, func(i int) error {
		_, err := f.At(i).Bytes()
		return err
	})
}

// bareChunks decompresses the chunks of a tensor with the library.
func bareChunks(f *File, off, n int64) error {
	c, _ := codecOf(f.f.comp.method)
	first, last := f.f.comp.covering(off, n)
	for i := first; i < last; i++ {
		row := f.f.comp.chunk(i)
		in, err := f.f.stored(row.stored, row.storedSz)
		if err == nil {
			_, err = c.Decompress(in, row.size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkWrite writes the CIFAR model.
func BenchmarkWrite(b *testing.B) {
	m := benchModels()[1]
	for _, o := range []WriteOptions{{}, {Compression: MethodLZ4, Level: 1}, {Compression: MethodZstd}, {Compression: MethodZstd, Chunked: true}, {Compression: MethodInt8}, {Compression: MethodFloat16}, {Key: testKey}, {Signer: testSigner}} {
		b.Run(fmt.Sprintf("%v chunked %v encrypted %v signed %v", o.Compression, o.Chunked, o.Key != nil, o.Signer != nil), func(b *testing.B) {
			for b.Loop() {
				m.file(b, o)
			}
			size := int64(0)
			for _, t := range m.specs {
				size += 4 * int64(len(t.Data))
			}
			b.SetBytes(size)
		})
	}
}
