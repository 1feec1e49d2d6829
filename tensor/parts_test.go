package tensor

import (
	"bytes"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/internal/memory"
)

// decoder is an owner with workers, and nothing to populate.
type decoder struct {
	owner
	workers int
}

func (o *decoder) Workers() int                              { return o.workers }
func (*decoder) Advise(memory.Advice, []byte) (int64, error) { return 0, nil }

// advised records what it is to populate.
type advised struct {
	decoder
	populated []Range
}

func (o *advised) Advise(a memory.Advice, b []byte) (int64, error) {
	from := int64(memory.Address(b) - memory.Address(o.mem))
	o.populated = append(o.populated, Range{from, from + int64(len(b))})
	return 0, nil
}

// TestPopulated: bulk reads of a mapping populate it first, a step at a time, and no more than they read.
func TestPopulated(t *testing.T) {
	const kB = 1 << 10
	shape := Shape{1000, 300} // uint16: 600,000 bytes in rows of 600
	steps := []Range{{0, 256 * kB}, {256 * kB, 512 * kB}, {512 * kB, 600_000}}
	tests := []struct {
		name string
		read func(v View) error
		want []Range
	}{
		{"ReadInto", func(v View) error { _, err := v.ReadInto(make([]byte, 600_000)); return err }, steps},
		{"Clone", func(v View) error { _, err := v.Clone(); return err }, steps},
		{"Digest", func(v View) error { _, err := v.Digest(); return err }, steps},
		{"Decode", func(v View) error { _, err := Decode[float32](nil, v); return err }, steps},
		{"DecodeAt", func(v View) error { return DecodeAt(make([]float32, 50*kB), v, 1000) }, []Range{{2000, 2000 + 100*kB}}},
		{"ReadAt", func(v View) error { _, err := v.ReadAt(make([]byte, 70*kB), 5); return err }, []Range{{5, 5 + 70*kB}}},
		{"a little", func(v View) error { _, err := v.ReadAt(make([]byte, 60*kB), 5); return err }, nil},
		{"columns", func(v View) error { _, err := v.Slice(Range{10, End}, Range{0, 100}); return err }, []Range{{6600, 6600 + 256*kB}, {268_800, 268_800 + 256*kB}, {531_000, 600_000}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &advised{decoder: decoder{owner{mem: memory.Aligned(600_000)}, 1}}
			info := &Info{Name: "w", DType: Uint16, Shape: shape, Size: 600_000}
			must(t, tt.read(View(memory.New(info, memory.Owner[Info](o), o.mem))))
			equal(t, "", tt.want, o.populated)
		})
	}
}

// TestDecodeOnWorkers: several goroutines decode what one does.
func TestDecodeOnWorkers(t *testing.T) {
	for _, d := range []DType{Uint8, Int16, BFloat16, Float64} {
		o := &decoder{owner: owner{mem: memory.Aligned(1<<20 + 8)}, workers: 4}
		for i := range o.mem {
			o.mem[i] = byte(i * 11 >> 2)
		}
		n := int64(len(o.mem)) / d.Size()
		info := &Info{Name: "w", DType: d, Shape: Shape{n}, Size: int64(len(o.mem))}
		v := View(memory.New(info, memory.Owner[Info](o), o.mem))
		got, err := Decode[float32](nil, v)
		must(t, err)
		want := make([]float32, n)
		must(t, DecodeAt(want, v, 0))
		if !bytes.Equal(memory.BytesOf(want), memory.BytesOf(got)) || slices.Max(got) == 0 {
			t.Errorf("%v: differs", d)
		}
	}
}
