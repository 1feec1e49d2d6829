package format_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// residencyFile writes a model that has three tensors of 64 pages and a half, one after the other.
func residencyFile(t *testing.T, kind string) (path string, size int64) {
	t.Helper()
	size = int64(os.Getpagesize())*64 + int64(os.Getpagesize())/2
	var views []tensor.View
	for _, name := range []string{"a", "b", "c"} {
		v, err := tensor.FromBytes(name, tensor.Int8, tensor.Shape{size}, bytes.Repeat([]byte{7}, int(size)))
		expect.OK(t, err)
		views = append(views, v)
	}
	path = filepath.Join(t.TempDir(), "m."+kind)
	expect.OK(t, format.Save(t.Context(), path, nil, views, &format.WriteOptions{Format: expect.Must(format.ByName(kind))}))
	return path, size
}

func residentBytes(t *testing.T, v tensor.View) int64 {
	t.Helper()
	n, err := v.Resident()
	expect.OK(t, err)
	return n
}

// TestResidency evicts one tensor of a mapping, and a part of another, in one file and in several.
func TestResidency(t *testing.T) {
	testhost.NeedResident(t)
	for _, kind := range []string{"safetensors", "tsr"} {
		t.Run(kind, func(t *testing.T) { residency(t, kind) })
	}
}

func residency(t *testing.T, kind string) {
	path, size := residencyFile(t, kind)
	m, err := format.Open(path, nil)
	expect.OK(t, err)
	defer m.Close()
	page := int64(os.Getpagesize())
	var views []tensor.View
	for _, v := range m.Tensors() {
		if n := residentBytes(t, v); n != 0 {
			t.Errorf("%v: %d bytes are resident before their first use", v, n)
		}
		views = append(views, v)
	}
	read := func() {
		for _, v := range views {
			expect.OK(t, v.Prefetch())
			expect.OK(t, v.Use(func(b []byte) error {
				checksum.Of(driver.NoSum, b)
				return nil
			}))
			if n := residentBytes(t, v); n != size {
				t.Errorf("%v: %d of %d bytes are resident after use", v, n, size)
			}
		}
	}
	read()
	expect.OK(t, views[1].Evict())
	if n := residentBytes(t, views[1]); n < 1 || n > 2*page {
		t.Errorf("%d bytes of the evicted tensor are resident, want the pages at its ends", n)
	}
	for _, v := range []tensor.View{views[0], views[2]} {
		if n := residentBytes(t, v); n != size {
			t.Errorf("%v: %d of %d bytes are resident next to the evicted tensor", v, n, size)
		}
	}
	read()
	half, err := views[0].Slice(tensor.Range{From: 0, To: 32 * page})
	expect.OK(t, err)
	expect.OK(t, half.Evict())
	if n := residentBytes(t, half); n > 2*page {
		t.Errorf("%d bytes of the evicted half are resident", n)
	}
	if n := residentBytes(t, views[0]); n < size-33*page || n > size-30*page {
		t.Errorf("%d bytes of %d are resident without 32 pages", n, size)
	}
	tiny, err := views[0].Slice(tensor.Range{From: 33 * page, To: 33*page + 1})
	expect.OK(t, err)
	if err := tiny.Evict(); err != nil || residentBytes(t, tiny) != 1 {
		t.Errorf("a part of a page was evicted, or %v", err)
	}
}

// TestResidencyElsewhere: what is not mapped, and what is closed.
func TestResidencyElsewhere(t *testing.T) {
	path, size := residencyFile(t, "safetensors")
	data := expect.Read(t, path)
	mapped, err := format.Open(path, nil)
	expect.OK(t, err)
	inBytes, err := format.OpenBytes(data, nil)
	expect.OK(t, err)
	behind, err := format.OpenReaderAt(bytes.NewReader(data), int64(len(data)), nil)
	expect.OK(t, err)
	for name, tt := range map[string]struct {
		m    *format.Model
		want int64
	}{"bytes": {inBytes, size}, "reader": {behind, -1}, "mapped": {mapped, -2}} {
		v, err := tt.m.Tensor("b")
		expect.OK(t, err)
		n, err := v.Resident()
		if err := errors.Join(err, v.Prefetch(), v.Evict()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n != tt.want && tt.want != -2 {
			t.Errorf("%s: %d bytes are resident, want %d", name, n, tt.want)
		}
		own, err := v.Clone()
		expect.OK(t, err)
		tt.m.Close()
		_, err = v.Resident()
		for i, err := range []error{err, v.Prefetch(), v.Evict()} {
			if !errors.Is(err, format.ErrClosed) {
				t.Errorf("%s: %d: %v after Close", name, i, err)
			}
		}
		if n, err := own.Resident(); n != size || err != nil {
			t.Errorf("%s: %d bytes of a clone are resident: %v", name, n, err)
		}
	}
	var none tensor.View
	if err := none.Evict(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("no tensor: %v", err)
	}
}
