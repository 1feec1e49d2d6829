package source

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

// account is an Account that counts.
type account struct{ most, used int64 }

func (a *account) Reserve(n int64) error {
	if a.used+n > a.most {
		return tensor.ErrLimit
	}
	a.used += n
	return nil
}

func (a *account) Release(n int64) { a.used -= n }

// twins opens private copies of a file in every way.
func twins(t *testing.T, path string, o Options, each func(t *testing.T, open func() (*Region, error), from int)) {
	o.Private, o.Parse = true, true
	t.Run("Open", func(t *testing.T) {
		each(t, func() (*Region, error) { return Open(path, o) }, 0)
	})
	t.Run("OpenFile", func(t *testing.T) {
		each(t, func() (*Region, error) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			return OpenFile(f, 5001, -1, o)
		}, 5001)
	})
}

// overwrite changes a file in place from its beginning.
func overwrite(t *testing.T, path string, data []byte) { t.Helper(); overwriteAt(t, path, data, 0) }

// TestPrivate: whatever becomes of the file, the copy stays; it is counted as the memory that
// it is, and goes with Close.
func TestPrivate(t *testing.T) {
	data := ramp(3<<20 + 77)
	path := temp(t, data)
	a := &account{most: 1 << 30}
	twins(t, path, Options{Memory: a}, func(t *testing.T, open func() (*Region, error), from int) {
		overwrite(t, path, data)
		a.used = 0
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		want := data[from:]
		overwrite(t, path, make([]byte, len(data)))
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if n, err := r.ReadAt(got, 0); n != len(want) || err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v", n, err)
		}
		r.Parsed()
		if !r.Copied() || !r.InMemory() || !bytes.Equal(r.Bytes(), want) {
			t.Error("the copy changed with the file")
		}
		if r.Held() != a.used || a.used != 0 && a.used != int64(len(want)) {
			t.Errorf("%d bytes of %d are memory, %d were counted", r.Held(), len(want), a.used)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if r := mustOpen(t, temp(t, nil), Options{Private: true}); r.Size() != 0 || len(r.Bytes()) != 0 {
		t.Error("an empty file has bytes")
	}
}

// TestPrivateMemory: a copy that takes more memory than there may be is not begun.
func TestPrivateMemory(t *testing.T) {
	path := temp(t, ramp(10000))
	a := &account{most: 1000}
	twins(t, path, Options{Memory: a}, func(t *testing.T, open func() (*Region, error), from int) {
		r, err := open()
		if err == nil && r.Held() == 0 {
			t.Skip("the file system shares blocks")
		}
		var e *tensor.Error
		if !errors.Is(err, tensor.ErrLimit) || !errors.As(err, &e) || e.Field != "file" || a.used != 0 {
			t.Errorf("%v, %d bytes are counted", err, a.used)
		}
	})
}

// TestPrivateCanceled: copying ends with its context, and so does waiting.
func TestPrivateCanceled(t *testing.T) {
	path := temp(t, ramp(10000))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	twins(t, path, Options{Context: ctx}, func(t *testing.T, open func() (*Region, error), from int) {
		overwrite(t, path, ramp(10000))
		if _, err := open(); !errors.Is(err, context.Canceled) {
			t.Errorf("while it waits: %v", err)
		}
		time.Sleep(2 * (&stamp{nsec: 1}).grain())
		if r, err := open(); !errors.Is(err, context.Canceled) && (err != nil || r.Held() > 0) {
			t.Errorf("while it copies: %v", err)
		}
	})
}

// TestPrivateReplaced: only the file that was looked at before is copied.
func TestPrivateReplaced(t *testing.T) {
	path := temp(t, ramp(100))
	now, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	s, err := stampOf(now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{Private: true, Same: s.id}); err != nil {
		t.Error(err)
	}
	overwrite(t, path, ramp(200))
	if _, err := Open(path, Options{Private: true, Same: s.id}); !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
}

// TestPrivateGone: of what is not there no copy is made.
func TestPrivateGone(t *testing.T) {
	if _, err := Open(temp(t, nil)+"x", Options{Private: true}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(t.TempDir(), Options{Private: true}); !errors.Is(err, ErrNotRegular) {
		t.Error(err)
	}
}

// TestHeapIsCounted: what is read into memory is counted before it is.
func TestHeapIsCounted(t *testing.T) {
	data := ramp(1000)
	f, err := os.Open(temp(t, data))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for most, want := range map[int64]error{999: tensor.ErrLimit, 1000: nil} {
		a := &account{most: most}
		r := new(Region)
		if err := r.readWindow(f, 0, 1000, &Options{Memory: a}); !errors.Is(err, want) || want == nil && (a.used != 1000 || !cmp.Equal(r.Bytes(), data)) {
			t.Errorf("%d bytes: %v, %d counted", most, err, a.used)
		}
	}
}
