package tensor

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
)

func TestWithInfo(t *testing.T) {
	quant := &Quantization{Scales: []float32{2}, Axis: PerTensor}
	blocks := &Encoding{Name: "B", BlockElems: 6, BlockBytes: 6}
	cases := []struct {
		name string
		info Info
		err  error
	}{
		{"another name", Info{Name: "b", DType: Int8, Shape: Shape{2, 6}}, nil},
		{"another shape", Info{Name: "w", DType: Int8, Shape: Shape{12}}, nil},
		{"another dtype", Info{Name: "w", DType: Float32, Shape: Shape{3}}, nil},
		{"quantized", Info{Name: "w", DType: Int8, Shape: Shape{2, 6}, Quant: quant}, nil},
		{"blocks", Info{Name: "w", Encoding: blocks, Shape: Shape{2, 6}}, nil},
		{"blocks of unknown size", Info{Name: "w", Encoding: &Encoding{Name: "U"}, Shape: Shape{5}}, nil},
		{"fewer bytes", Info{Name: "w", DType: Int8, Shape: Shape{11}}, ErrShape},
		{"more bytes", Info{Name: "w", DType: Int16, Shape: Shape{2, 6}}, ErrShape},
		{"a negative dim", Info{Name: "w", DType: Int8, Shape: Shape{-1}}, ErrShape},
		{"no type", Info{Name: "w", Shape: Shape{12}}, ErrDType},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			base := &Info{Name: "w", DType: Int8, Shape: Shape{2, 6}, File: 3, Offset: 640, Size: 12, Stored: 12}
			o := &owner{}
			v := newView(base, o, at(12, 0))
			got, err := v.WithInfo(c.info)
			if c.err != nil {
				expect.Refused(t, c.err)(got, err)
				_, err = got.Bytes()
				expect.Refused(t, c.err)(nil, err)
				return
			}
			expect.OK(t, err)
			want := c.info
			want.File, want.Offset, want.Size, want.Stored = 3, 640, 12, 12
			info := got.Info()
			expect.Equal(t, want.String(), info.String())
			expect.Equal(t, []int64{640, 12, 12, 3}, []int64{info.Offset, info.Size, info.Stored, int64(info.File)})
			b, err := got.Bytes()
			expect.OK(t, err)
			if memory.Address(b) != memory.Address(v.ref().Data()) {
				t.Error("the bytes were copied")
			}
			expect.Equal(t, 0, o.loads+o.entered)
			expect.Equal(t, 1, o.exposed)
			o.closed = true
			_, err = got.Bytes()
			expect.Refused(t, ErrClosed)(nil, err)
		})
	}
	_, err := View{}.WithInfo(cases[0].info)
	expect.Refused(t, ErrClosed)(nil, err)
	failed, _ := FromBytes("w", Int8, Shape{2}, nil)
	_, err = failed.WithInfo(cases[0].info)
	expect.Refused(t, ErrShape)(nil, err)
}

// knowing is an owner that finds tensors by name, as those of models do.
type knowing struct {
	*owner
	asked []Info
}

func (k *knowing) Enter(info *Info) error {
	k.asked = append(k.asked, *info)
	return k.owner.Enter(info)
}

func (k *knowing) Explain(info *Info, err error) error {
	return &Error{Field: info.Name, Offset: info.Offset, Err: err}
}

func TestWithInfoOwner(t *testing.T) {
	base := &Info{Name: "w", DType: Uint8, Shape: Shape{8}, Offset: 100, Size: 8, Stored: 8}
	k := &knowing{owner: &owner{mem: at(8, 0), ranged: true}}
	v := View(memory.New(base, memory.Owner[Info](k), nil))
	got, err := v.WithInfo(Info{Name: "x", DType: Uint16, Shape: Shape{4}})
	expect.OK(t, err)
	part, err := got.Slice(Range{1, 3})
	expect.OK(t, err)
	expect.Equal(t, int64(102), part.Info().Offset)
	_, err = part.Bytes()
	expect.OK(t, err)
	last := k.asked[len(k.asked)-1]
	expect.Equal(t, "w", last.Name) // and a part of it
	expect.Equal(t, []int64{102, 4}, []int64{last.Offset, last.Size})

	k.loadErr = ErrTruncated
	_, err = got.ReadInto(make([]byte, 8))
	var e *Error
	if !errors.As(err, &e) || e.Field != "w" || e.Offset != 100 {
		t.Errorf("%v, want an error about w at 100", err)
	}
	k.closed = true
	_, err = got.Bytes()
	expect.Refused(t, ErrClosed)(nil, err)
}

// A part of a tensor of bytes need not be aligned for floats: its copy is of the part, and the owner caches nothing.
func TestWithInfoMisaligned(t *testing.T) {
	b := at(9, 0)
	binary.LittleEndian.PutUint32(b[1:], math.Float32bits(3))
	binary.LittleEndian.PutUint32(b[5:], math.Float32bits(4))
	o := &owner{}
	v := newView(&Info{Name: "w", DType: Uint8, Shape: Shape{9}, Size: 9, Stored: 9}, o, b)
	part, err := v.Slice(Range{1, 9})
	expect.OK(t, err)
	floats, err := part.WithInfo(Info{Name: "f", DType: Float32, Shape: Shape{2}})
	expect.OK(t, err)
	if floats.ZeroCopy() {
		t.Error("misaligned memory is viewed")
	}
	got, err := Decode[float32](nil, floats)
	expect.OK(t, err)
	expect.Equal(t, []float32{3, 4}, got)
	raw, err := floats.Bytes()
	expect.OK(t, err)
	expect.Equal(t, b[1:], raw)
	expect.Equal(t, 0, o.loads)
}
