package formattest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// opened is a sample opened in one of the ways there are.
type opened struct {
	name   string
	byPath bool
	mapped bool // by a whole mapping, so that offsets tell alignment
	open   func(t *testing.T) (format.Model, error)
}

// ways lists how b can be opened.
func (x *subject) ways(b []byte) []opened {
	o := x.s.Options
	return []opened{
		{"bytes", false, false, func(*testing.T) (format.Model, error) { return x.codec.OpenBytes(b, o) }},
		{"misaligned bytes", false, false, func(*testing.T) (format.Model, error) {
			return x.codec.OpenBytes(append(make([]byte, 1, len(b)+1), b...)[1:], o)
		}},
		{"path", true, true, func(t *testing.T) (format.Model, error) { return x.codec.Open(x.stored(t, b), o) }},
		{"reader", false, false, func(*testing.T) (format.Model, error) {
			return x.codec.OpenReaderAt(bytes.NewReader(b), int64(len(b)), o)
		}},
		{"file", false, true, func(t *testing.T) (format.Model, error) { return x.window(t, b, 0, 0, -1) }},
		{"window", false, false, func(t *testing.T) (format.Model, error) {
			return x.window(t, b, 4096+64, 77, int64(len(b)))
		}},
		{"odd window", false, false, func(t *testing.T) (format.Model, error) {
			return x.window(t, b, 37, 1, int64(len(b)))
		}},
	}
}

// window opens b within a larger file.
func (x *subject) window(t *testing.T, b []byte, before, after int, size int64) (format.Model, error) {
	junk := bytes.Repeat([]byte{0xa5}, before+after)
	f, err := os.Open(x.stored(t, slices.Concat(junk[:before], b, junk[before:])))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return x.codec.OpenFile(f, int64(before), size, x.s.Options)
}

// agreement: all ways to open a file show the same model.
func (x *subject) agreement(t *testing.T) {
	infos := func(m format.Model) []tensor.Info {
		var all []tensor.Info
		for name, v := range m.Tensors() {
			if name != v.Name() {
				t.Errorf("Tensors yields %q for tensor %q", name, v.Name())
			}
			all = append(all, v.Info())
		}
		return all
	}
	var want []tensor.Info
	for _, way := range x.ways(x.file) {
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
			all := infos(m)
			for i := range all {
				all[i].Name = x.nameOf(all[i].Name, way.byPath)
			}
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

// uses: Bytes, Use, ReadInto, Clone and Digest agree.
func (x *subject) uses(t *testing.T, m format.Model, byPath bool) {
	for _, v := range m.Tensors() {
		want := x.base.Data[x.nameOf(v.Name(), byPath)]
		into := make([]byte, len(want))
		if n, err := v.ReadInto(into); err != nil || n != len(want) || !bytes.Equal(into, want) {
			t.Errorf("tensor %q: ReadInto = %d, %v, or other bytes", v.Name(), n, err)
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
		if sum, err := v.Digest(); err != nil || sum != tensor.XXH64(want) {
			t.Errorf("tensor %q: Digest = %x, %v", v.Name(), sum, err)
		}
		if c, err := v.Clone(); err != nil || !sameView(v, c) {
			t.Errorf("tensor %q: Clone differs: %v", v.Name(), err)
		}
	}
}

// zeroCopy: plain tensors of a mapped file are the mapping, aligned.
func (x *subject) zeroCopy(t *testing.T) {
	for _, way := range x.ways(x.file) {
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

// checkViews looks at the addresses of a mapped model's tensors.
func (x *subject) checkViews(t *testing.T, what string, m format.Model) {
	var base uintptr
	for name, v := range m.Tensors() {
		info := v.Info()
		if info.Offset < 0 || info.Compression != "" || info.Size == 0 {
			continue
		}
		if end := info.Offset + info.Size; end > int64(len(x.file)) {
			t.Fatalf("%s: tensor %q ends at %d, the file at %d", what, name, end, len(x.file))
		}
		if !bytes.Equal(x.file[info.Offset:info.Offset+info.Size], x.base.Data[x.nameOf(name, false)]) {
			t.Errorf("%s: tensor %q does not lie at its offset %d", what, name, info.Offset)
		}
		if !x.cfg.ZeroCopy {
			continue
		}
		b, err := v.Bytes()
		if err != nil || !v.ZeroCopy() {
			t.Errorf("%s: tensor %q at %d: ZeroCopy %v, %v", what, name, info.Offset, v.ZeroCopy(), err)
			continue
		}
		align := x.cfg.Align
		if align == 0 {
			align = info.DType.Size()
		}
		if info.Offset%align != 0 {
			t.Errorf("%s: tensor %q lies at %d, no multiple of %d", what, name, info.Offset, align)
		}
		at := tensor.Address(b) - uintptr(info.Offset)
		if base == 0 {
			base = at
		}
		if at != base || base%64 != 0 {
			t.Errorf("%s: tensor %q is not a part of the mapping", what, name)
		}
	}
}

// lookup: names find their tensors, and only they do.
func (x *subject) lookup(t *testing.T) {
	m := x.openBytes(t, x.file)
	defer m.Close()
	n := 0
	for name, want := range m.Tensors() {
		n++
		got, ok := m.Tensor(name)
		if !ok || got.Name() != name || !cmp.Equal(want.Info(), got.Info(), compared) {
			t.Errorf("Tensor(%q) = %+v, %v; the walk shows %+v", name, got.Info(), ok, want.Info())
		}
	}
	if n != m.Len() {
		t.Errorf("the walk shows %d tensors, Len is %d", n, m.Len())
	}
	for _, name := range []string{"", "no such tensor", "\x00", "0 "} {
		if v, ok := m.Tensor(name); ok {
			t.Errorf("Tensor(%q) finds %+v", name, v.Info())
		}
	}
	for range m.Tensors() {
		break // a walk can be left
	}
	if m.Format() != x.codec.Name || m.Version() == "" {
		t.Errorf("Format %q, Version %q", m.Format(), m.Version())
	}
}

// verify: verification reports progress, can be cancelled, and does not take
// an unsigned file for a signed one.
func (x *subject) verify(t *testing.T) {
	m := x.openBytes(t, x.file)
	defer m.Close()
	checkProgress(t, func(p format.Progress) error { return x.verified(m, format.WithProgress(p)) }, x.s.VerifyErr == nil)
	if err := x.verified(m, format.WithWorkers(3), format.WithTensors(names(x.s.Plan)...)); err != nil && !x.cfg.NamesFromPath {
		t.Errorf("Verify of all tensors by name: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify with a cancelled context = %v", err)
	}
	if s, ok := m.(format.Signer); !ok || s.Signature() == nil {
		key, _, _ := ed25519.GenerateKey(nil)
		err := m.Verify(context.Background(), format.WithTrustedKey(key))
		if !errors.Is(err, format.ErrSignature) && (x.s.VerifyErr == nil || !errors.Is(err, x.s.VerifyErr)) {
			t.Errorf("Verify of an unsigned file with a trusted key = %v", err)
		}
	}
	if x.s.VerifyErr != nil {
		return
	}
	all, err := x.codec.OpenBytes(x.file, x.with(func(o *format.Options) { o.Check = format.CheckAll }))
	if err != nil {
		t.Fatalf("opening with CheckAll: %v", err)
	}
	all.Close()
}

// checkProgress runs f and looks at its reports: they do not overlap, never go
// back, keep to one total, and end there.
func checkProgress(t *testing.T, f func(format.Progress) error, complete bool) {
	t.Helper()
	var inside atomic.Int32
	var last, total int64 = 0, -1
	err := f(func(done, all int64, _ string) {
		if inside.Add(1) != 1 {
			t.Error("two reports of progress overlap")
		}
		defer inside.Add(-1)
		if done < last || done > all || total >= 0 && all != total {
			t.Errorf("progress goes from %d of %d to %d of %d", last, total, done, all)
		}
		last, total = done, all
	})
	if err != nil {
		t.Errorf("with a progress report: %v", err)
	}
	if complete && total >= 0 && last != total {
		t.Errorf("progress ends at %d of %d", last, total)
	}
}

// limit: a file with more tensors than allowed is refused.
func (x *subject) limit(t *testing.T) {
	n := len(x.base.Plan.Tensors)
	if n < 2 {
		t.Skip("takes two tensors")
	}
	m, err := x.codec.OpenBytes(x.file, x.with(func(o *format.Options) { o.MaxTensors = n - 1 }))
	if err == nil {
		m.Close()
		t.Fatalf("%d tensors open with MaxTensors %d", n, n-1)
	}
	if !errors.Is(err, format.ErrLimit) {
		t.Errorf("%d tensors with MaxTensors %d: %v, want ErrLimit", n, n-1, err)
	}
}

// counting counts the bytes that are read.
type counting struct {
	io.ReaderAt
	n atomic.Int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}
