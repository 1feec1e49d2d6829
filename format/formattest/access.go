package formattest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// opened is a sample opened in one of the ways there are.
type opened struct {
	name   string
	byPath bool
	mapped bool // by a whole mapping, so that offsets tell alignment
	open   func(t *testing.T) (*format.Model, error)
}

// ways lists how b can be opened.
func (x *subject) ways(b []byte, o *format.Options) []opened {
	return []opened{
		{"bytes", false, false, func(*testing.T) (*format.Model, error) { return x.codec.OpenBytes(b, o) }},
		{"misaligned bytes", false, false, func(*testing.T) (*format.Model, error) {
			return x.codec.OpenBytes(append(make([]byte, 1, len(b)+1), b...)[1:], o)
		}},
		{"path", true, true, func(t *testing.T) (*format.Model, error) { return x.codec.Open(x.stored(t, b), o) }},
		{"reader", false, false, func(*testing.T) (*format.Model, error) {
			return x.codec.OpenReaderAt(bytes.NewReader(b), int64(len(b)), o)
		}},
		{"file", false, true, func(t *testing.T) (*format.Model, error) { return x.window(t, b, o, 0, 0, -1) }},
		{"window", false, false, func(t *testing.T) (*format.Model, error) {
			return x.window(t, b, o, 4096+64, 77, int64(len(b)))
		}},
		{"odd window", false, false, func(t *testing.T) (*format.Model, error) {
			return x.window(t, b, o, 37, 1, int64(len(b)))
		}},
	}
}

// window opens b within a larger file.
func (x *subject) window(t *testing.T, b []byte, o *format.Options, before, after int, size int64) (*format.Model, error) {
	junk := bytes.Repeat([]byte{0xa5}, before+after)
	f, err := os.Open(x.stored(t, slices.Concat(junk[:before], b, junk[before:])))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return x.codec.OpenFile(f, int64(before), size, o)
}

// content: what was written, or is known of a file, is what is read.
func (x *subject) content(t *testing.T) {
	if d := x.diff(x.want, x.base); d != "" {
		t.Fatalf("read back: %s", d)
	}
	m := x.openBytes(t, x.file)
	defer m.Close()
	if err := x.verified(m); err != nil {
		t.Errorf("Verify: %v", err)
	}
}

// agreement: all ways to open a file show the same model.
func (x *subject) agreement(t *testing.T) {
	var want []tensor.Info
	for _, way := range x.ways(x.file, x.s.Options) {
		t.Run(way.name, func(t *testing.T) {
			m, err := way.open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			got, err := x.take(m, way.byPath)
			if err != nil {
				t.Fatal(err)
			}
			if d := x.diff(x.base, got); d != "" {
				t.Error(d)
			}
			if err := x.verified(m); err != nil {
				t.Errorf("Verify: %v", err)
			}
			all := x.infos(t, m, way.byPath)
			if want == nil {
				want = all
			}
			if d := cmp.Diff(want, all, compared); d != "" {
				t.Errorf("descriptions differ (-bytes +%s)\n%s", way.name, d)
			}
			x.uses(t, m, way.byPath)
		})
	}
}

// infos walks the tensors, and reaches each by its number too.
func (x *subject) infos(t *testing.T, m *format.Model, byPath bool) []tensor.Info {
	var all []tensor.Info
	for name, v := range m.Tensors() {
		if name != v.Name() || m.At(len(all)).Name() != name {
			t.Errorf("Tensors yields %q for tensor %q, which At calls %q", name, v.Name(), m.At(len(all)).Name())
		}
		info := v.Info()
		info.Name = x.nameOf(info.Name, byPath)
		all = append(all, info)
	}
	return all
}

// uses: Bytes, Use, ReadInto, ReadAt, Clone and Digest agree.
func (x *subject) uses(t *testing.T, m *format.Model, byPath bool) {
	for _, v := range m.Tensors() {
		want := x.base.Data[x.nameOf(v.Name(), byPath)]
		into := make([]byte, len(want))
		if n, err := v.ReadInto(into); err != nil || n != len(want) || !bytes.Equal(into, want) {
			t.Errorf("tensor %q: ReadInto = %d, %v, or other bytes", v.Name(), n, err)
		}
		part := into[:len(want)/2]
		if n, err := v.ReadAt(part, int64(len(want)/4)); err != nil || n != len(part) || !bytes.Equal(part, want[len(want)/4:][:n]) {
			t.Errorf("tensor %q: ReadAt = %d, %v, or other bytes", v.Name(), n, err)
		}
		err := v.Use(func(b []byte) error {
			if !bytes.Equal(b, want) {
				t.Errorf("tensor %q: Use shows other bytes", v.Name())
			}
			return nil
		})
		if err != nil {
			t.Errorf("tensor %q: Use: %v", v.Name(), err)
		}
		if sum, err := v.Digest(); err != nil || sum != xxhash.Sum64(want) {
			t.Errorf("tensor %q: Digest = %x, %v", v.Name(), sum, err)
		}
		if c, err := v.Clone(); err != nil || !sameView(v, c) {
			t.Errorf("tensor %q: Clone differs: %v", v.Name(), err)
		}
	}
}

// zeroCopy: plain tensors of a mapped file are the mapping, aligned.
func (x *subject) zeroCopy(t *testing.T) {
	for _, way := range x.ways(x.file, x.s.Options) {
		if !way.mapped {
			continue
		}
		m, err := way.open(t)
		if err != nil {
			t.Fatal(err)
		}
		x.checkViews(t, way.name, m)
		m.Close()
	}
}

// isPlain tells whether the bytes of a tensor are in the file as such.
func isPlain(info tensor.Info) bool {
	return info.Offset >= 0 && info.Compression == "" && info.Size > 0
}

// checkViews looks at the addresses of a mapped model's tensors.
func (x *subject) checkViews(t *testing.T, what string, m *format.Model) {
	var base uintptr
	for name, v := range m.Tensors() {
		info := v.Info()
		if !isPlain(info) {
			continue
		}
		if end := info.Offset + info.Size; end > int64(len(x.file)) {
			t.Fatalf("%s: tensor %q ends at %d, the file at %d", what, name, end, len(x.file))
		}
		if !bytes.Equal(x.file[info.Offset:info.Offset+info.Size], x.base.Data[x.nameOf(name, false)]) {
			t.Errorf("%s: tensor %q is not at its offset %d", what, name, info.Offset)
		}
		b, err := v.Bytes()
		if err != nil || address(b)%alignment(info.DType) != 0 {
			t.Errorf("%s: tensor %q at %d: not aligned, or %v", what, name, info.Offset, err)
		}
		if swapped(info.DType) {
			if v.ZeroCopy() {
				t.Errorf("%s: tensor %q is not in the host's byte order, and not a copy", what, name)
			}
			continue
		}
		if uintptr(info.Offset)%alignment(info.DType) != 0 && x.writer.Name() == "" {
			if v.ZeroCopy() {
				t.Errorf("%s: tensor %q at %d is not aligned, and not a copy", what, name, info.Offset)
			}
			continue
		}
		if x.cfg.ZeroCopy {
			base = x.checkView(t, what, v, b, base)
		}
	}
}

// checkView looks at one of them. It returns where the mapping begins.
func (x *subject) checkView(t *testing.T, what string, v tensor.View, b []byte, base uintptr) uintptr {
	info := v.Info()
	if !v.ZeroCopy() {
		t.Errorf("%s: tensor %q at %d is a copy", what, info.Name, info.Offset)
		return base
	}
	align := x.cfg.Align
	if align == 0 {
		align = int64(alignment(info.DType))
	}
	if info.Offset%align != 0 && x.writer.Name() != "" {
		t.Errorf("%s: tensor %q is at %d, not a multiple of %d", what, info.Name, info.Offset, align)
	}
	at := address(b) - uintptr(info.Offset)
	if base == 0 {
		base = at
	}
	if at != base || base%64 != 0 {
		t.Errorf("%s: tensor %q is not a part of the mapping", what, info.Name)
	}
	return base
}

// alignment returns what addresses of elements must be multiples of: a
// complex number is two.
func alignment(d tensor.DType) uintptr {
	if d == tensor.Complex64 {
		return uintptr(d.Size()) / 2
	}
	return uintptr(max(1, d.Size()))
}

// address returns where b is, in the one way that needs neither unsafe nor
// reflect.
func address(b []byte) uintptr {
	at, err := strconv.ParseUint(fmt.Sprintf("%p", b), 0, 64)
	if err != nil {
		panic(err)
	}
	return uintptr(at)
}

// swapped tells whether elements of d are in another byte order than the host's.
func swapped(d tensor.DType) bool { return !memory.LittleEndian && d.Size() > 1 }
