package format

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// TestLyingDrivers: what a parser says is checked once more, so that a view never
// leaves its file.
func TestLyingDrivers(t *testing.T) {
	for _, tt := range []struct {
		name string
		t    driver.Tensor
		want error
	}{
		{"behind the end", u8("w", 60, 5), tensor.ErrTruncated},
		{"far behind the end", u8("w", 1<<62, 4), tensor.ErrTruncated},
		{"empty, behind the end", u8("w", 65, 0), tensor.ErrTruncated},
		{"offset and size overflow", u8("w", 1<<63-2, 4), tensor.ErrTruncated},
		{"negative offset", u8("w", -1, 4), tensor.ErrTruncated},
		{"too large for its shape", driver.Tensor{Name: []byte("w"), DType: tensor.Uint8, Shape: tensor.Shape{3}, Size: 4}, tensor.ErrCorrupt},
		{"too small for its shape", driver.Tensor{Name: []byte("w"), DType: tensor.Float32, Shape: tensor.Shape{3}, Size: 4}, tensor.ErrCorrupt},
		{"negative size", driver.Tensor{Name: []byte("w"), DType: tensor.Uint8, Shape: tensor.Shape{-1}, Size: -1}, tensor.ErrShape},
		{"negative dims", driver.Tensor{Name: []byte("w"), DType: tensor.Uint8, Shape: tensor.Shape{-2, -2}, Size: 4}, tensor.ErrShape},
		{"overflowing shape", driver.Tensor{Name: []byte("w"), DType: tensor.Uint8, Shape: tensor.Shape{1 << 62, 4}}, tensor.ErrShape},
		{"no dtype", driver.Tensor{Name: []byte("w"), Shape: tensor.Shape{1}, Size: 1}, tensor.ErrDType},
		{"no dtype, and no size", driver.Tensor{Name: []byte("w"), Shape: tensor.Shape{1}, Size: -5, Offset: 5, Encoding: &tensor.Encoding{Name: "x"}}, tensor.ErrCorrupt},
		{"too few blocks", driver.Tensor{Name: []byte("w"), Shape: tensor.Shape{4}, Size: 1, Encoding: &tensor.Encoding{Name: "x", BlockElems: 2, BlockBytes: 1}}, tensor.ErrCorrupt},
		{"loaded, without a Loader", loaded(u8("w", 0, 4)), tensor.ErrCorrupt},
		{"unknown space", in(1, u8("w", 0, 4)), tensor.ErrCorrupt},
		{"space that is negative as an int32", in(1<<32-1, u8("w", 0, 4)), tensor.ErrCorrupt},
		{"loaded, in an unknown space", in(3, loaded(u8("w", 0, 4))), tensor.ErrCorrupt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for kind, r := range regions(ramp(64)) {
				m := &Model{}
				err := m.openRegion(r, toyConfig(&toy{tensors: []driver.Tensor{u8("good", 0, 64), u8("nothing", 64, 0), tt.t}}))
				wantToyError(t, kind, err, tt.want, `tensor "w"`)
				if !r.Closed() {
					t.Errorf("%s: the file is still open", kind)
				}
			}
		})
	}
	open(t, source.FromBytes(ramp(64)), &toy{tensors: []driver.Tensor{u8("end", 60, 4), u8("nothing", 64, 0)}})
}

// TestParseErrors: errors of the driver get format and path, and the file is closed.
func TestParseErrors(t *testing.T) {
	r := source.FromBytes(ramp(8))
	m := &Model{}
	err := m.openRegion(r, toyConfig(&toy{before: func(driver.Source) error { return errMine }}, func(c *config) { c.path = "m.toy" }))
	if want := "toy: m.toy: mine"; err == nil || err.Error() != want || !r.Closed() {
		t.Errorf("%v, want %s; closed: %v", err, want, r.Closed())
	}
	err = m.openTree(&config{driver: fileOnly{&toy{}}, path: "d"})
	wantToyError(t, "a directory of a format without", err, source.ErrNotRegular, "")
}

// fileOnly hides that a toy knows directories.
type fileOnly struct{ driver.Driver }

// TestErrorsAreRepeated: a view that came with an error answers it, and nothing
// else, whatever is asked of it.
func TestErrorsAreRepeated(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/m.toy", ramp(8))
	d := &toy{tensors: []driver.Tensor{u8("w", 0, 8), in(1, u8("far", 0, 4))}}
	d.dir = func(dir driver.Dir) error { _, err := dir.Declare("none.bin"); return err }
	m := openToy(t, dir+"/m.toy", d)
	for _, tt := range []struct {
		name, field string
		want        error
	}{
		{"typo", `tensor "typo"`, tensor.ErrNotFound},
		{"far", `tensor "far"`, os.ErrNotExist},
	} {
		v, err := m.Tensor(tt.name)
		wantToyError(t, tt.name, err, tt.want, tt.field)
		if v.Name() != tt.name || v.ZeroCopy() {
			t.Errorf("%s: the view is of %q, zero-copy %v", tt.name, v.Name(), v.ZeroCopy())
		}
		answers(t, tt.name, v, func(again error) bool { return again == err })
	}
	for i, want := range map[int]error{-1: tensor.ErrNotFound, 2: tensor.ErrNotFound, 1: os.ErrNotExist} {
		answers(t, fmt.Sprint(i), m.At(i), func(err error) bool { return errors.Is(err, want) })
	}
	m.Close()
	for _, name := range []string{"typo", "far"} {
		v, err := m.Tensor(name)
		if !errors.Is(err, tensor.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
		answers(t, name+" after Close", v, func(err error) bool { return errors.Is(err, tensor.ErrClosed) })
	}
}

// TestAfterClose: views that were there before answer ErrClosed.
func TestAfterClose(t *testing.T) {
	for name, r := range regions(ramp(16)) {
		m := open(t, r, &toy{tensors: []driver.Tensor{u8("w", 0, 8), loaded(u8("packed", 0, 4))}, parsed: driver.Parsed{Load: func(int) ([]byte, error) { return ramp(4), nil }}})
		before := []tensor.View{m.At(0), m.At(1)}
		_, err := before[1].Bytes()
		expect.OK(t, err)
		for range 2 {
			expect.OK(t, m.Close())
		}
		for _, v := range append(before, m.At(0), m.At(1)) {
			answers(t, name+": "+v.Name(), v, func(err error) bool {
				return errors.Is(err, tensor.ErrClosed) || errors.Is(err, tensor.ErrDType) || errors.Is(err, tensor.ErrShape)
			})
		}
		for _, tensorName := range []string{"w", "packed", "none"} {
			late, err := m.Tensor(tensorName)
			wantToyError(t, name+": Tensor", err, tensor.ErrClosed, fmt.Sprintf("tensor %q", tensorName))
			answers(t, name+": taken late: "+tensorName, late, func(again error) bool { return again == err })
		}
		_, verify := m.verify(t.Context(), &VerifyOptions{})
		_, graph := m.Graph()
		_, pin := m.Pin()
		for what, err := range map[string]error{
			"Verify": verify, "Pin": pin, "Prefetch": m.Prefetch(t.Context()), "Do": m.Guard(func() error { return nil }),
		} {
			if !errors.Is(err, tensor.ErrClosed) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if s := m.Stats(); graph != nil || s.Resident != -1 || s.Kept != 0 || s.FileSize != 0 || m.index.Len() != 2 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestLoading: the driver is asked once for each tensor, also by many at once,
// its errors are not kept, and what it returns is not trusted.
func TestLoading(t *testing.T) {
	var calls [4]atomic.Int32
	m := open(t, source.FromBytes(ramp(8)), &toy{
		tensors: []driver.Tensor{u8("plain", 0, 8), loaded(u8("a", 0, 3)), loaded(u8("b", 0, 3)), loaded(u8("short", 0, 3))},
		parsed: driver.Parsed{Load: func(i int) ([]byte, error) {
			if calls[i].Add(1) == 1 && i == 2 {
				return nil, errMine
			}
			return bytes.Repeat([]byte{byte(i)}, min(3, 5-i)), nil
		}},
	})
	a := m.At(1)
	if a.ZeroCopy() {
		t.Error("a loaded tensor says it is a view")
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 10 {
				if b, err := a.Bytes(); err != nil || !bytes.Equal(b, []byte{1, 1, 1}) {
					t.Errorf("%v, %v", b, err)
				}
				if err := a.Use(func([]byte) error { return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	_, err := m.At(2).Bytes()
	wantToyError(t, "the first load of b", err, errMine, `tensor "b"`)
	if got := bytesOf(t, m, "b"); got != "[2 2 2]" {
		t.Errorf("the second load of b: %v", got)
	}
	_, err = m.At(3).Bytes()
	wantToyError(t, "too few bytes", err, tensor.ErrCorrupt, `tensor "short"`)
	if calls[0].Load() != 0 || calls[1].Load() != 1 || calls[2].Load() != 2 {
		t.Errorf("loaded %d, %d and %d times", calls[0].Load(), calls[1].Load(), calls[2].Load())
	}
	if kept := m.Stats().Kept; kept != 6 {
		t.Errorf("%d bytes are kept, want 6", kept)
	}
	bytesA, _ := a.Bytes()
	m.Close()
	if !bytes.Equal(bytesA, []byte{1, 1, 1}) {
		t.Error("Close changed a copy that was handed out")
	}
}

// TestCloseUnderUse closes while others load, touch and read: whoever came before
// Close finishes, whoever came later is told.
func TestCloseUnderUse(t *testing.T) {
	for range 20 {
		m := open(t, source.FromBytes(ramp(64)), &toy{
			onTouch: true,
			tensors: []driver.Tensor{loaded(u8("a", 0, 3)), u8("b", 0, 64), {Name: []byte("odd"), DType: tensor.Int16, Shape: tensor.Shape{4}, Offset: 1, Size: 8}},
			parsed: driver.Parsed{
				Load:   func(int) ([]byte, error) { return []byte{1, 1, 1}, nil },
				Sums:   func() []driver.Sum { return []driver.Sum{checked(func(driver.Verification) error { return nil })} },
				SumsOf: func(int) (from, to int) { return 0, 1 },
			},
		})
		var group sync.WaitGroup
		start := make(chan struct{})
		for g := range 4 {
			group.Go(func() {
				<-start
				for i := range 50 {
					err := m.At((i + g) % 3).Use(func([]byte) error {
						return m.At((i + g + 1) % 3).Use(func([]byte) error { return nil })
					})
					if err != nil && !errors.Is(err, tensor.ErrClosed) {
						t.Error(err)
					}
					m.Stats()
					m.Notes()
					m.Tensor("none")
				}
			})
		}
		close(start)
		for range 2 {
			group.Go(func() { ; m.Close() })
		}
		group.Wait()
	}
}

// TestNotes: who asks gets a list of its own.
func TestNotes(t *testing.T) {
	own := append(make([]string, 0, 8), "one", "two")
	d := &toy{parsed: driver.Parsed{LazyNotes: func() []string { return own }}, tensors: []driver.Tensor{{Name: []byte("w"), DType: tensor.Float32, Shape: tensor.Shape{1}, Offset: 3, Size: 4}}}
	m := open(t, source.FromBytes(ramp(8)), d)
	want := []string{"one", "two", "1 tensor is not aligned: views are copies"}
	got := m.Notes()
	expect.Equal(t, want, got)
	got[0] = "spoiled"
	if diff := cmp.Diff(want, m.Notes()); diff != "" || own[:3][2] != "" {
		t.Errorf("%q: %s", own[:3], diff)
	}
}
