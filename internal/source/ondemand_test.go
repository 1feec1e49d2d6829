package source

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

// demanded opens a file on demand in every way, and says where its window begins.
func demanded(t *testing.T, path string, o Options, each func(t *testing.T, r *Region, from int)) {
	t.Run("Open", func(t *testing.T) { each(t, mustOpen(t, path, o), 0) })
	t.Run("OpenFile", func(t *testing.T) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := OpenFile(f, 5001, -1, o)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		each(t, r, 5001)
	})
}

// TestOnDemand: what is not mapped is read through the file that was opened, whatever has
// its name by then, while it is parsed and afterwards, and takes no memory.
func TestOnDemand(t *testing.T) {
	data := ramp(3 << 20)
	for _, parse := range []bool{true, false} {
		path := temp(t, data)
		demanded(t, path, Options{OnDemand: true, Parse: parse}, func(t *testing.T, r *Region, from int) {
			if runtime.GOOS != "windows" { // which lets nobody take the name
				if err := os.Rename(path, path+".old"); err != nil {
					t.Fatal(err)
				}
				defer os.Rename(path+".old", path)
			}
			want := data[from:]
			read := func() {
				t.Helper()
				for _, at := range [][2]int{{0, 10}, {16<<10 - 3, 8}, {20 << 10, 2 << 20}, {len(want) - 4, 4}, {len(want), 0}} {
					b, err := r.Slice(int64(at[0]), int64(at[1]))
					if err != nil || !bytes.Equal(b, want[at[0]:][:at[1]]) {
						t.Errorf("%d bytes at %d: %v", at[1], at[0], err)
					}
				}
			}
			if b, err := r.Head(256); err != nil || !bytes.Equal(b, want[:256]) {
				t.Errorf("Head: %d bytes, %v", len(b), err)
			}
			read()
			r.Parsed()
			read()
			if !r.OnDemand() || r.InMemory() || r.Mapped() || r.Held() != 0 || r.Bytes() != nil || r.Resident() != 0 {
				t.Error("it is not read on demand, or is memory")
			}
			if err := errors.Join(r.Prefetch(0, 100), r.Evict(), r.Close()); err != nil {
				t.Error(err)
			}
			if _, err := r.Slice(0, 1); !errors.Is(err, tensor.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			if err := r.Close(); err != nil {
				t.Errorf("closed again: %v", err)
			}
		})
	}
}

// TestOnDemandCut: of a file that was cut short what is missing is an error, and allocates little.
func TestOnDemandCut(t *testing.T) {
	path := temp(t, ramp(3<<20))
	r := mustOpen(t, path, Options{OnDemand: true})
	if err := os.Truncate(path, 9000); err != nil {
		t.Skip(err)
	}
	if _, err := r.Slice(8990, 10); err != nil {
		t.Error(err)
	}
	for _, n := range []int64{11, 2 << 20} {
		var e *tensor.Error
		if _, err := r.Slice(8990, n); !errors.Is(err, tensor.ErrTruncated) || !errors.As(err, &e) || e.Offset != 8990 || e.Path != path {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestSpace: files are mapped as long as there is space, and read on demand from then on.
func TestSpace(t *testing.T) {
	if !maps {
		t.Skip("files are not mapped here")
	}
	data := ramp(10000)
	space := new(Space)
	space.Limit(35000)
	for i := range 5 {
		path := temp(t, data) // a private copy is memory on Windows, which is not counted
		o := Options{Space: space, Private: i%2 == 1}
		r := mustOpen(t, path, o)
		if want := i < 3 || runtime.GOOS == "windows"; r.Mapped() != want && (r.Mapped() || !r.InMemory() || !o.Private) || r.OnDemand() != (!want && !r.InMemory()) {
			t.Errorf("file %d: mapped %v, on demand %v", i, r.Mapped(), r.OnDemand())
		}
		if b, err := r.Slice(0, 10000); err != nil || !bytes.Equal(b, data) {
			t.Errorf("file %d: %v", i, err)
		}
	}
	if r := mustOpen(t, temp(t, ramp(5000)), Options{Space: space}); !r.Mapped() {
		t.Error("a smaller file fits")
	}
}

// TestUndo: what was opened and is not used leaves the accounts as they were.
func TestUndo(t *testing.T) {
	path := temp(t, ramp(9000))
	f := mustFile(t, path)
	for _, private := range []bool{false, true} {
		a, space := &account{most: 10000}, new(Space)
		space.Limit(10000)
		o := Options{Space: space, Memory: a, Private: private}
		for range 3 {
			for name, open := range map[string]func() (*Region, error){
				"Open":     func() (*Region, error) { return Open(path, o) },
				"OpenFile": func() (*Region, error) { return OpenFile(f, 1000, 5000, o) },
			} {
				r, err := open()
				if err != nil {
					t.Fatal(err)
				}
				if r.OnDemand() {
					t.Errorf("%s, private %v: there was no room", name, private)
				}
				r.Undo(&o)
				if a.used != 0 || space.used.Load() != 0 || !r.Closed() {
					t.Errorf("%s, private %v: %d bytes of memory and %d of the space are taken", name, private, a.used, space.used.Load())
				}
			}
		}
	}
}
