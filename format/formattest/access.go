package formattest

import (
	"bytes"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// way is a way to open a sample.
type way struct {
	name string
	open func(t *testing.T) (*format.Model, error)
}

// ways returns the ways to open b.
func (x *subject) ways(b []byte, o *format.Options) []way {
	o = o.With(x.cfg.Format)
	return []way{
		{"bytes", func(*testing.T) (*format.Model, error) { return format.OpenBytes(b, o) }},
		{"misaligned bytes", func(*testing.T) (*format.Model, error) {
			return format.OpenBytes(append(make([]byte, 1, len(b)+1), b...)[1:], o)
		}},
		{"path", func(t *testing.T) (*format.Model, error) { return format.Open(x.stored(t, b), o) }},
		{"reader", func(*testing.T) (*format.Model, error) {
			return format.OpenReaderAt(bytes.NewReader(b), int64(len(b)), o)
		}},
	}
}

// content checks that all ways to open a file give the same model: the schema written, or the known
// content of a file.
func (x *subject) content(t *testing.T) {
	var want []tensor.Info
	for _, way := range x.ways(x.file, x.s.Options) {
		t.Run(way.name, func(t *testing.T) {
			m, err := way.open(t)
			expect.OK(t, err)
			defer m.Close()
			x.differs(t, "read back", m)
			if err := x.verified(m, nil); err != nil {
				t.Errorf("Verify: %v", err)
			}
			var got []tensor.Info
			for _, v := range m.Tensors() {
				got = append(got, v.Info())
				got[len(got)-1].Name = x.nameOf(v.Name())
			}
			if want == nil {
				want = got
			}
			expect.Equal(t, want, got, compared)
		})
	}
}

// zeroCopy checks that plain tensors are at their offsets, are views of the mapping, and have the
// alignment that the writer promises.
func (x *subject) zeroCopy(t *testing.T) {
	m, err := format.Open(x.stored(t, x.file), x.s.Options.With(x.cfg.Format))
	expect.OK(t, err)
	defer m.Close()
	for name, v := range m.Tensors() {
		info := v.Info()
		if info.Offset < 0 || info.Compression != "" || info.Size == 0 {
			continue
		}
		if string(x.file[info.Offset:][:info.Size]) != x.want.Data[x.nameOf(name)] {
			t.Errorf("tensor %q is not at its offset %d", name, info.Offset)
		}
		align := int64(max(1, info.DType.Size()))
		if info.DType == tensor.Complex64 {
			align /= 2
		}
		viewed := info.Offset%align == 0 && (memory.LittleEndian || align == 1)
		if v.ZeroCopy() && !viewed || !v.ZeroCopy() && viewed && x.cfg.ZeroCopy {
			t.Errorf("tensor %q at %d: ZeroCopy() = %v", name, info.Offset, v.ZeroCopy())
		}
		if x.cfg.Align > 0 {
			align = x.cfg.Align
		}
		if x.cfg.ZeroCopy && x.write != nil && info.Offset%align != 0 {
			t.Errorf("tensor %q is at %d, not a multiple of %d", name, info.Offset, align)
		}
	}
}
