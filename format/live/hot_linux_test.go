package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/sys/unix"
)

// writeLarge writes n tensors of size random bytes, named "0" and so on.
func writeLarge(t *testing.T, path string, n, size int) {
	t.Helper()
	p := &format.Plan{}
	for i := range n {
		p.Tensors = append(p.Tensors, tensor.Info{Name: strconv.Itoa(i), DType: tensor.Float32, Shape: tensor.Shape{int64(size / 4)}})
	}
	w, err := mag.Create(path, p, &mag.WriteOptions{WriteOptions: format.WriteOptions{NoSync: true}})
	if err != nil {
		t.Fatal(err)
	}
	b, r := make([]byte, size), rand.New(rand.NewPCG(1, 2))
	for i := range n {
		for k := 0; k < size; k += 8 {
			binary.LittleEndian.PutUint64(b[k:], r.Uint64())
		}
		if err := w.WriteTensor(strconv.Itoa(i), bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// Only pages that were written back leave the cache.
	if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
		t.Fatal(err)
	}
}

// reads reads tensors and returns how many pages this thread had to wait for.
func reads(m *format.Model, names ...string) (faults int64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &before); err != nil {
		return 0, err
	}
	for _, name := range names {
		v, err := m.Tensor(name)
		if err != nil {
			return 0, err
		}
		if err := v.Use(touch); err != nil {
			return 0, err
		}
	}
	err = unix.Getrusage(unix.RUSAGE_THREAD, &after)
	return int64(after.Majflt - before.Majflt), err
}

// touched keeps the compiler from leaving out what is read for nothing else.
var touched atomic.Uint32

// touch reads a byte of every page.
func touch(b []byte) error {
	for i := 0; i < len(b); i += 4096 {
		touched.Add(uint32(b[i]))
	}
	return nil
}

// TestHot: hot tensors stay in memory when the system takes the pages of all others.
func TestHot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.mag")
	writeLarge(t, path, 8, 256<<10)
	h, err := Open(path, &Options{Hot: []string{"2", "5"}})
	if errors.Is(err, format.ErrLimit) {
		t.Skip("the process may not lock 512 KiB in memory: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = h.Do(func(m *format.Model) error {
		if s := m.Stats(); s.Locked < 512<<10 || s.Locked >= 768<<10 {
			t.Errorf("%d bytes are locked", s.Locked)
		}
		for _, v := range m.Tensors() {
			if err := v.Evict(); err != nil {
				return err
			}
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return err
		}
		for name, v := range m.Tensors() {
			n, err := v.Resident()
			if hot := name == "2" || name == "5"; err != nil || n >= 0 && (n == 256<<10) != hot {
				t.Errorf("tensor %s: %d bytes are resident, %v", name, n, err)
			}
		}
		faults, err := reads(m, "2", "5")
		if faults != 0 {
			t.Errorf("the hot tensors waited for %d pages", faults)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := Open(path, &Options{Hot: []string{"none"}}); !errors.Is(err, format.ErrNotFound) {
		t.Errorf("a hot tensor that the model lacks: %v", err)
	}
}
