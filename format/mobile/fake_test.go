package mobile

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/tensor"
)

// fake is a model with one tensor of each kind that this package treats
// differently, over memory of its own.
type fake struct {
	*catalog.Catalog
	meta  format.Metadata
	graph *format.Graph
	notes []string
}

func (f *fake) Metadata() format.Metadata { return f.meta }

func (f *fake) Graph() (*format.Graph, error) { return f.graph, nil }

func (f *fake) Notes() []string { return f.notes }

func (f *fake) Verify(context.Context, ...format.VerifyOption) error { return nil }

// part is a tensor of a fake.
type part struct {
	name  string
	dtype tensor.DType
	shape tensor.Shape
	data  []byte
	quant *tensor.Quantization
	lazy  bool // not in memory as such
	skew  int  // misaligned by so many bytes
}

// newFake lays the parts out, each at a multiple of 64 plus its skew.
func newFake(t *testing.T, parts ...part) (*Model, *fake) {
	t.Helper()
	size := 0
	for _, p := range parts {
		size += (len(p.data)+p.skew+63)&^63 + 64
	}
	file := tensor.AlignedBytes(size)
	c := catalog.New(mapped.FromBytes(file), "fake", "7", len(parts), 0, 0)
	lazy := map[int][]byte{}
	at := 0
	for i, p := range parts {
		shape := c.Dims(len(p.shape))
		copy(shape, p.shape)
		in := &catalog.Tensor{
			Name: []byte(p.name), DType: p.dtype, Shape: shape, Quant: p.quant,
			Offset: int64(at + p.skew), Size: int64(len(p.data)), Lazy: p.lazy,
		}
		if p.lazy {
			in.Offset, in.Stored, in.Compression = -1, 1, "gzip"
			lazy[i] = p.data
		}
		copy(file[at+p.skew:], p.data)
		if !c.Add(in) {
			t.Fatalf("%q occurs twice", p.name)
		}
		at += (len(p.data)+p.skew+63)&^63 + 64
	}
	c.Fetch = func(i int) ([]byte, error) { return append(tensor.AlignedBytes(0), lazy[i]...), nil }
	f := &fake{Catalog: c}
	return &Model{m: f}, f
}

// floats returns values as little-endian float32.
func floats(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// ramp returns n bytes that differ from their neighbours.
func ramp(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(7 * i)
	}
	return b
}
