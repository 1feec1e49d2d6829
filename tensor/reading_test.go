package tensor

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
)

// mapped owns a tensor in a mapped file. It records how the file is read.
type mapped struct {
	owner
	data   []byte
	before int64 // bytes before the tensor
	log    []string
}

func (m *mapped) File(info *Info) (pass.File, int64) { return m, m.before + info.Offset }

func (m *mapped) Memory() []byte { return m.data }

func (m *mapped) Mapping() pass.Mapping { return m }

func (m *mapped) Kind() pass.Kind { return pass.Kind{} }

func (m *mapped) ReadAtContext(_ context.Context, p []byte, off int64) (int, error) {
	m.log = append(m.log, "copy")
	return copy(p, m.data[off:]), nil
}

func (m *mapped) Size() int64 { return int64(len(m.data)) }

func (m *mapped) IsUsed(off, size int64) bool { return false }

func (m *mapped) MarkUsed(off, size int64) {}

func (m *mapped) Populate(off, size int64) { m.log = append(m.log, "populate") }

func (m *mapped) Reopen() (pass.Reopened, error) { return pread{m}, nil }

func (m *mapped) Workers() int { return 3 }

func (m *mapped) Advise(memory.Advice, []byte) (int64, error) { return 0, nil }

// pread is a mapped file that is read.
type pread struct{ m *mapped }

func (pread) Memory() []byte        { return nil }
func (pread) Mapping() pass.Mapping { return nil }
func (pread) Kind() pass.Kind       { return pass.Kind{} }
func (pread) Close() error          { return nil }

func (pread) ReadEach([][]byte, int64) (bool, error) { return false, nil }

func (p pread) ReadAtContext(_ context.Context, b []byte, off int64) (int, error) {
	p.m.log = append(p.m.log, fmt.Sprintf("pread %d", len(b)))
	return copy(b, p.m.data[off:]), nil
}

// TestMappedTensor: every way to copy a tensor of a mapped file returns its bytes, and large ones are read from the file.
func TestMappedTensor(t *testing.T) {
	const rows, columns = 1000, 300
	const before = 77
	open := func(d DType) (*mapped, View) {
		size := rows * columns * d.Size()
		m := &mapped{data: memory.Aligned(before + int(size)), before: before}
		for i := range m.data {
			m.data[i] = byte(i*31>>3) & 0x3f
		}
		info := &Info{Name: "w", DType: d, Shape: Shape{rows, columns}, Size: size}
		return m, View(memory.New(info, memory.Owner[Info](m), m.data[before:]))
	}
	for _, tt := range []struct {
		name string
		read func(v View) ([]byte, error)
		log  []string
	}{
		{"ReadInto", func(v View) ([]byte, error) {
			b := make([]byte, v.Size())
			_, err := v.ReadInto(b)
			return b, err
		}, []string{"pread 262144", "pread 262144", "pread 75712"}},
		{"a few bytes", func(v View) ([]byte, error) {
			b := make([]byte, 1000)
			_, err := v.ReadAt(b, 5)
			return b, err
		}, nil},
		{"Clone", func(v View) ([]byte, error) {
			c, err := v.Clone()
			if err != nil {
				return nil, err
			}
			return c.Bytes()
		}, []string{"pread 262144", "pread 262144", "pread 75712"}},
		{"half of the columns", func(v View) ([]byte, error) {
			s, err := v.Slice(Range{0, End}, Range{3, columns / 2})
			if err != nil {
				return nil, err
			}
			return s.Bytes()
		}, []string{"pread 262144", "pread 262144", "pread 75406"}},
		{"one column of ten rows", func(v View) ([]byte, error) {
			s, err := v.Slice(Range{0, 10}, At(5))
			if err != nil {
				return nil, err
			}
			return s.Bytes()
		}, nil},
		{"Decode", func(v View) ([]byte, error) {
			f, err := Decode[float64](nil, v)
			return memory.BytesOf(f), err
		}, []string{"pread 262144", "pread 262144", "pread 75712"}},
		{"DecodeAt", func(v View) ([]byte, error) {
			f := make([]float32, 200_000)
			err := DecodeAt(f, v, 3)
			return memory.BytesOf(f), err
		}, []string{"pread 262144", "pread 137856"}},
		{"Digest", func(v View) ([]byte, error) {
			sum, err := v.Digest()
			return fmt.Append(nil, sum), err
		}, []string{"pread 262144", "pread 262144", "pread 75712"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, v := open(BFloat16)
			got, err := tt.read(v)
			expect.OK(t, err)
			onHeap, err := FromBytes("w", v.DType(), v.Shape(), m.data[before:])
			expect.OK(t, err)
			want, err := tt.read(onHeap)
			expect.OK(t, err)
			if !bytes.Equal(want, got) {
				t.Error("other bytes than in memory")
			}
			equal(t, "", tt.log, m.log)
		})
	}
}
