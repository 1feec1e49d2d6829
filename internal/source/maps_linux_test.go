package source

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/sys/unix"
)

// mappings counts those of the file at path in this process.
func mappings(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("no /proc here:", err)
	}
	return strings.Count(string(text), testhost.Resolved(path))
}

func TestCloseUnmaps(t *testing.T) {
	path := temp(t, ramp(10000))
	for _, debug := range []bool{false, true} {
		r := mustOpen(t, path, Options{Debug: debug})
		if n := mappings(t, path); n != 1 {
			t.Fatalf("%d mappings while open", n)
		}
		expect.OK(t, errors.Join(r.Expose(), r.Close()))
		want := 0
		if debug || debugBuild {
			want = 1 // inaccessible, and reserved for ever
		}
		if n := mappings(t, path); n != want {
			t.Errorf("debug %v: %d mappings after Close, want %d", debug, n, want)
		}
		if debugBuild {
			return
		}
	}
}

// drop opens the file at path, lends a slice of it if asked, and forgets it.
func drop(t *testing.T, path string, lend bool) {
	r, err := open(path, Options{})
	expect.OK(t, err)
	if lend {
		expect.OK(t, r.Expose())
	}
}

// collected waits until the mapping of path is gone, and reports whether it went.
func collected(t *testing.T, path string) bool {
	for range 500 {
		if mappings(t, path) == 0 {
			return true
		}
		runtime.GC()
		runtime.Gosched()
	}
	return false
}

func TestDroppedRegions(t *testing.T) {
	idle, exposed := temp(t, ramp(10000)), temp(t, ramp(10000))
	drop(t, exposed, true)
	drop(t, idle, false)
	if mappings(t, exposed) != 1 { // the collector may have found the idle one already
		t.Fatal("not mapped")
	}
	if !collected(t, idle) {
		t.Error("a region dropped without Close stays mapped")
	}
	// Once more, so that finalizers queued together have all run.
	drop(t, idle, false)
	if !collected(t, idle) {
		t.Error("the second dropped region stays mapped")
	}
	if mappings(t, exposed) != 1 {
		t.Error("an exposed slice lost its memory to the garbage collector")
	}
}

// TestDroppedOnDemand: a file that is read on demand is closed with its region, or with the
// last of it.
func TestDroppedOnDemand(t *testing.T) {
	noMore(t)
	path := temp(t, ramp(10000))
	r := mustOpen(t, path, Options{})
	if n := testhost.OpenFilesOf(t, path); n != 1 {
		t.Errorf("%d descriptors", n)
	}
	if err := r.Close(); err != nil || testhost.OpenFilesOf(t, path) != 0 {
		t.Errorf("%d descriptors after Close: %v", testhost.OpenFilesOf(t, path), err)
	}
	func() {
		_, err := open(path, Options{})
		expect.OK(t, err)
	}()
	for range 500 {
		if testhost.OpenFilesOf(t, path) == 0 {
			return
		}
		runtime.GC()
		runtime.Gosched()
	}
	t.Error("the file of a region that was dropped stays open")
}

// Parsing under Guard keeps a region alive that nothing else holds.
func TestGuardKeepsTheRegionAlive(t *testing.T) {
	data := ramp(10000)
	path := temp(t, data)
	r, err := open(path, Options{})
	expect.OK(t, err)
	b := r.Bytes()
	_, err = fault.Guard(r.Holds, func() error {
		for range 5 {
			runtime.GC()
			runtime.Gosched()
		}
		if !bytes.Equal(b, data) {
			t.Error("wrong bytes")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if !collected(t, path) {
		t.Error("still mapped")
	}
}

// lockedMemory returns how many kB the process has locked.
func lockedMemory(t *testing.T) int { return kilobytes(t, "status", "\nVmLck:") }

// TestLock: what is locked stays, until Close and no longer, also where that keeps the
// addresses.
func TestLock(t *testing.T) {
	testhost.NeedResident(t)
	const size = 100000
	path := temp(t, ramp(size))
	for _, o := range []Options{{}, {Debug: true}} {
		before := lockedMemory(t)
		for i, r := range []*Region{mustOpen(t, path, o), mustOpenFile(t, path, 5001, 40000, o)} {
			expect.OK(t, r.Lock(t.Context()))
			want := int64([]int{size, 40000}[i])
			if err := evict(r); err != nil || r.Locked() != want || residentOf(r) != want {
				t.Errorf("%+v: %v, %d bytes are locked, %d resident, want %d", o, err, r.Locked(), residentOf(r), want)
			}
			if !r.IsUsed(0, r.Size()) {
				t.Errorf("%+v: copies would be read by pread, although all pages are mapped", o)
			}
			if now := lockedMemory(t); now <= before {
				t.Errorf("%+v: %d kB are locked, %d before", o, now, before)
			}
			if err := r.Lock(t.Context()); err != nil || r.Locked() != want {
				t.Errorf("%+v: locked again: %v, %d bytes", o, err, r.Locked())
			}
			expect.OK(t, r.Close())
		}
		if now := lockedMemory(t); now != before {
			t.Errorf("%+v: %d kB are locked after Close, %d before", o, now, before)
		}
	}
}

// TestLockCanceled: bringing much into memory ends with its context.
func TestLockCanceled(t *testing.T) {
	r := mustOpen(t, temp(t, ramp(5000)), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Lock(ctx); !errors.Is(err, context.Canceled) || r.Locked() != 0 {
		t.Error(err)
	}
}

// TestLockCut: pages that the file has lost are an error, which is not taken for a limit.
func TestLockCut(t *testing.T) {
	testhost.NeedCuts(t)
	path := temp(t, ramp(100000))
	r := mustOpen(t, path, Options{})
	expect.OK(t, os.Truncate(path, 5000))
	if err := r.Lock(t.Context()); !errors.Is(err, tensor.ErrTruncated) || errors.Is(err, tensor.ErrLimit) {
		t.Error(err)
	}
}

// TestGuardCut: a fault in the window is located.
func TestGuardCut(t *testing.T) {
	testhost.NeedCuts(t)
	path := temp(t, ramp(100000))
	r := mustOpen(t, path, Options{})
	expect.OK(t, os.Truncate(path, 5000))
	addr, _ := fault.Guard(r.Holds, func() error { sink = r.Bytes()[50000]; return nil })
	if off := r.FaultOffset(addr); off/4096 != 50000/4096 {
		t.Errorf("the fault is at %d", off)
	}
}

// TestLockLimit: if the system refuses to lock memory, the error is ErrLimit.
func TestLockLimit(t *testing.T) {
	r := mustOpen(t, temp(t, ramp(5000)), Options{})
	t.Cleanup(func() { lockPages = lockMemory })
	for _, no := range []error{unix.ENOMEM, unix.EPERM, unix.EAGAIN} {
		lockPages = func([]byte) error { return no }
		err := r.Lock(t.Context())
		if !errors.Is(err, tensor.ErrLimit) || !errors.Is(err, no) || !strings.Contains(err.Error(), "RLIMIT_MEMLOCK") || r.Locked() != 0 {
			t.Errorf("%v: %v", no, err)
		}
	}
}

// TestKeptFile: a file that was kept is closed if it is dropped, and not if it was closed or mapped.
func TestKeptFile(t *testing.T) {
	path := temp(t, ramp(10000))
	dir, err := unix.Open(filepath.Dir(path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	expect.OK(t, err)
	defer unix.Close(dir)
	kept := func() *File {
		f, err := OpenAt(dir, filepath.Base(path), path)
		expect.OK(t, err)
		f.Keep()
		return f
	}
	for _, tt := range []struct {
		name string
		end  func(f *File)
	}{
		{"dropped", func(*File) {}},
		{"closed", func(f *File) { expect.OK(t, f.Close()) }},
		{"closed twice", func(f *File) { expect.OK(t, errors.Join(f.Close(), f.Close())) }},
		{"mapped", func(f *File) {
			r, err := FromFile(f, f.Info(), path, Options{})
			expect.OK(t, err)
			expect.OK(t, r.Close())
		}},
	} {
		tt.end(kept())
		left := testhost.OpenFilesOf(t, path)
		for range 500 {
			if left == 0 {
				break
			}
			runtime.GC()
			runtime.Gosched()
			left = testhost.OpenFilesOf(t, path)
		}
		if left != 0 {
			t.Errorf("%s: it stays open", tt.name)
		}
	}
	// What has the number of a descriptor that was closed is not closed by the collector.
	other, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	expect.OK(t, err)
	for range 5 {
		runtime.GC()
		runtime.Gosched()
	}
	expect.OK(t, unix.Close(other))
}
