package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestParse: while a file is parsed it is read through its descriptor, whatever has its
// name by then, and nothing of the mapping is touched; afterwards it is the mapping.
func TestParse(t *testing.T) {
	data := ramp(100 << 10)
	path := temp(t, data)
	openings(t, path, Options{Parse: true}, func(t *testing.T, r *Region, base int64) {
		data := data[base:]
		expect.OK(t, os.Rename(path, path+".old"))
		defer os.Rename(path+".old", path)
		if b, err := r.Copy(0, 256); err != nil || !bytes.Equal(b, data[:256]) {
			t.Errorf("the beginning: %d bytes, %v", len(b), err)
		}
		for _, at := range [][2]int{{0, 10}, {5, 16<<10 - 5}, {16<<10 - 3, 8}, {16 << 10, 1}, {20 << 10, 60 << 10}, {len(data) - 4, 4}, {len(data), 0}} {
			p := make([]byte, at[1])
			if n, err := r.ReadAt(p, int64(at[0])); n != len(p) || err != nil || !bytes.Equal(p, data[at[0]:][:at[1]]) {
				t.Errorf("%d bytes at %d: %d, %v", at[1], at[0], n, err)
			}
			if b, err := r.Copy(int64(at[0]), int64(at[1])); err != nil || !bytes.Equal(b, p) {
				t.Errorf("a copy of %d bytes at %d: %v", at[1], at[0], err)
			}
		}
		if n := touched(t, path); n != 0 {
			t.Errorf("%d kB of the mapping were touched", n)
		}
		before := testhost.OpenFilesOf(t, path)
		r.Parsed()
		r.Parsed()
		if after := testhost.OpenFilesOf(t, path); base == 0 && (before != 1 || after != 0) {
			t.Errorf("%d descriptors while parsing, %d afterwards", before, after)
		}
		p := make([]byte, 10)
		if _, err := r.ReadAt(p, 5); err != nil || !bytes.Equal(p, data[5:15]) {
			t.Error(err)
		}
		if n := touched(t, path); n == 0 {
			t.Error("afterwards it is not the mapping that is read")
		}
	})
}

// touched returns how many kB of the mappings of a file are in the process.
func touched(t *testing.T, path string) int {
	return kilobytes(t, "smaps", testhost.Resolved(path), "\nRss:")
}

// kilobytes returns the number that follows the last of some texts, in a file that describes the process.
func kilobytes(t *testing.T, name string, after ...string) (kb int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/" + name)
	if err != nil {
		t.Skip("no /proc here:", err)
	}
	text := string(b)
	for _, mark := range after {
		var ok bool
		if _, text, ok = strings.Cut(text, mark); !ok {
			t.Skip("the system does not say")
		}
	}
	_, err = fmt.Sscan(text, &kb)
	expect.OK(t, err)
	return kb
}

// TestParseCut: a file that is cut short while it is parsed is an error, not a fault.
func TestParseCut(t *testing.T) {
	for _, left := range []int64{0, 5000, 30 << 10} {
		path := temp(t, ramp(100<<10))
		openings(t, path, Options{Parse: true}, func(t *testing.T, r *Region, base int64) {
			expect.OK(t, os.Truncate(path, left))
			if b, err := r.Copy(0, 12<<10); left < 12<<10 && (b != nil || !errors.Is(err, tensor.ErrTruncated)) {
				t.Errorf("the beginning of %d: %d bytes, %v", left, len(b), err)
			}
			for _, at := range []int64{max(0, left-base-2), 40 << 10} {
				n, err := r.ReadAt(make([]byte, 100), at)
				var e *tensor.Error
				if !errors.Is(err, tensor.ErrTruncated) || !errors.As(err, &e) || e.Offset != at+int64(n) {
					t.Errorf("at %d of %d: %d, %v", at, left, n, err)
				}
			}
			expect.OK(t, os.WriteFile(path, ramp(100<<10), 0o666))
		})
	}
}

// TestReadSoon: what is on disk alone is read into the cache while the file is parsed, what is there already is not.
func TestReadSoon(t *testing.T) {
	path := temp(t, ramp(5<<20))
	if err := floor.Evict(path); err != nil {
		t.Skip("the cache of this file system cannot be emptied: ", err)
	}
	openings(t, path, Options{Parse: true}, func(t *testing.T, r *Region, base int64) {
		const off = 2 << 20
		soon := false
		for i := 0; i < 10 && !soon; i++ { // the system does not evict pages that it is busy with
			if err := floor.Evict(path); err != nil {
				t.Skip("the cache of this file system is not emptied now: ", err)
			}
			soon = r.ReadSoon(off, 100)
		}
		if !soon {
			t.Error("it is not read, and not there")
		}
		if _, err := r.ReadAt(make([]byte, 100), off); err != nil { // which waits for it
			t.Fatal(err)
		}
		if r.ReadSoon(off, 100) {
			t.Error("it is read again")
		}
		if r.Parsed(); r.ReadSoon(off+1<<20, 100) {
			t.Error("it is read after the file was parsed")
		}
	})
}

// TestReopen: the file that is read is the one that is mapped, from the window on, and nothing else that has its name by then.
func TestReopen(t *testing.T) {
	data := ramp(100 << 10)
	path := temp(t, data)
	openings(t, path, Options{Parse: true}, func(t *testing.T, r *Region, base int64) {
		f, err := r.Reopen()
		expect.OK(t, err)
		defer f.Close()
		p := make([]byte, 1000)
		if n, err := f.ReadAtContext(t.Context(), p, 77); n != len(p) || err != nil || !bytes.Equal(p, data[base+77:][:len(p)]) {
			t.Errorf("%d, %v", n, err)
		}
		expect.OK(t, errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, data, 0o666)))
		expect.Refused(t, ErrReplaced, "another file")(r.Reopen())
		expect.OK(t, os.Remove(path))
		expect.Refused(t, os.ErrNotExist, "no file")(r.Reopen())
		expect.OK(t, os.Rename(path+".old", path))
	})
	expect.Refused(t, errors.ErrUnsupported, "bytes")(FromBytes(data).Reopen())
}

// TestReadEach: any number of buffers, also empty ones, are filled from the window on. Bytes that the file has lost are
// ErrTruncated, at the offset of the first.
func TestReadEach(t *testing.T) {
	data := ramp(10_000)
	path := temp(t, data)
	openings(t, path, Options{Parse: true}, func(t *testing.T, r *Region, base int64) {
		f, err := r.Reopen()
		expect.OK(t, err)
		defer f.Close()
		var to [][]byte
		for i := range 3000 {
			to = append(to, make([]byte, i%3))
		}
		ok, err := f.ReadEach(slices.Clone(to), 5)
		if got := bytes.Join(to, nil); !ok || err != nil || !bytes.Equal(data[base+5:][:len(got)], got) {
			t.Error("other bytes", ok, err)
		}
	})
	testhost.NeedCuts(t)
	f, err := mustOpen(t, path, Options{}).Reopen()
	expect.OK(t, err)
	defer f.Close()
	expect.OK(t, os.Truncate(path, 5000))
	ok, err := f.ReadEach([][]byte{make([]byte, 3000), make([]byte, 4000)}, 1000)
	var e *tensor.Error
	if !ok || !errors.Is(err, tensor.ErrTruncated) || !errors.As(err, &e) || e.Offset != 5000 {
		t.Error(ok, err)
	}
}

// TestReopenCutShort: bytes that the file has lost are ErrTruncated, at the offset of the first, in the file and the mapping.
func TestReopenCutShort(t *testing.T) {
	testhost.NeedCuts(t)
	path := temp(t, ramp(100<<10))
	r := mustOpen(t, path, Options{})
	f, err := r.Reopen()
	expect.OK(t, err)
	defer f.Close()
	expect.OK(t, os.Truncate(path, 5000))
	var e *tensor.Error
	if n, err := f.ReadAtContext(t.Context(), make([]byte, 1000), 4500); n != 500 || !errors.Is(err, tensor.ErrTruncated) || !errors.As(err, &e) || e.Offset != 5000 {
		t.Errorf("%d, %v", n, err)
	}
	page := os.Getpagesize() // of the mapping, which shows zeros up to the end of the last page
	if n, err := r.ReadAt(make([]byte, 90000), 0); n != (5000+page-1)/page*page || !errors.Is(err, tensor.ErrTruncated) {
		t.Errorf("the mapping: %d, %v", n, err)
	}
}
