//go:build linux || darwin

package source

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/exp/mmap"
)

// within fails the test when f does not return: with a hang there is no other way out.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("it hangs")
	}
}

// hook has f called between looking at a file and opening it.
func hook(t *testing.T, f func()) {
	open := mapFile
	mapFile = func(name string) (*mmap.ReaderAt, error) {
		f()
		return open(name)
	}
	t.Cleanup(func() { mapFile = mmap.Open })
}

// TestOpenNeverWaits: a pipe is refused, and one that takes the place of a file while
// that is opened is not met: opening it would wait for its other end.
func TestOpenNeverWaits(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip("no pipes here: ", err)
	}
	within(t, func() {
		if _, err := open(pipe, Options{}); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), "pipe") {
			t.Error(err)
		}
	})
	data := ramp(5000)
	path := temp(t, data)
	hook(t, func() {
		expect.OK(t, errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o666)))
	})
	within(t, func() {
		r, err := open(path, Options{})
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Close()
		if b, err := r.Copy(0, r.Size()); err != nil || !bytes.Equal(b, data) {
			t.Error("these are not the bytes of the file that was looked at")
		}
	})
}

// TestOpenKinds: what is not a regular file is refused by its kind.
func TestOpenKinds(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	expect.OK(t, os.Symlink(temp(t, ramp(9)), link))
	for _, tt := range []struct{ path, kind string }{{dir, "directory"}, {os.DevNull, "device"}} {
		if _, err := open(tt.path, Options{}); !errors.Is(err, ErrNotRegular) || !errors.Is(err, tensor.ErrUnsupported) || !strings.HasSuffix(err.Error(), ": "+tt.kind) {
			t.Errorf("%s: %v", tt.kind, err)
		}
	}
	mustOpen(t, link, Options{})
	secret := temp(t, ramp(9))
	expect.OK(t, os.Chmod(secret, 0))
	// Errors name the file as the caller did.
	if _, err := open(secret, Options{}); os.Getuid() != 0 && (!errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), descriptors)) {
		t.Errorf("without permission: %v", err)
	}
}

// TestNoMappings: where the file system does not map, files are held in memory, and read on
// demand where that may not be.
func TestNoMappings(t *testing.T) {
	mapFile = func(string) (*mmap.ReaderAt, error) { return nil, syscall.ENODEV }
	t.Cleanup(func() { mapFile = mmap.Open })
	data := ramp(9000)
	path := temp(t, data)
	for most, onDemand := range map[int64]bool{8999: true, 9000: false} {
		a := &account{most: most}
		r := mustOpen(t, path, Options{Memory: a})
		b, err := r.Slice(0, 9000)
		if err != nil || r.OnDemand() != onDemand || held(r) != a.used || !bytes.Equal(b, data) {
			t.Errorf("%d bytes may be taken: on demand %v, %d bytes of memory, %d counted, %v", most, r.OnDemand(), held(r), a.used, err)
		}
	}
}

// TestNoNamesOfDescriptors: without /proc the file at the path is mapped if it is still the one that was opened.
func TestNoNamesOfDescriptors(t *testing.T) {
	mapFile = func(name string) (*mmap.ReaderAt, error) {
		if strings.HasPrefix(name, descriptors) {
			return nil, os.ErrNotExist
		}
		return mmap.Open(name)
	}
	t.Cleanup(func() { mapFile = mmap.Open })
	path := temp(t, ramp(5000))
	if r := mustOpen(t, path, Options{}); !r.Mapped() || !bytes.Equal(r.Bytes(), ramp(5000)) {
		t.Error("not mapped, or other bytes")
	}
	hook(t, func() {
		expect.OK(t, errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, ramp(5000), 0o666)))
	})
	expect.Refused(t, ErrReplaced, "replaced")(open(path, Options{}))
}

// noMore has the system refuse mappings during a test.
func noMore(t *testing.T) {
	mapFile = func(string) (*mmap.ReaderAt, error) { return nil, syscall.ENOMEM }
	t.Cleanup(func() { mapFile = mmap.Open })
}

// openings opens a file as a whole and from its second page on.
func openings(t *testing.T, path string, o Options, each func(t *testing.T, r *Region, base int64)) {
	t.Run("Open", func(t *testing.T) { each(t, mustOpen(t, path, o), 0) })
	t.Run("OpenFile", func(t *testing.T) { each(t, mustOpenFile(t, path, 4096, -1, o), 4096) })
}

// TestOnDemand: what is not mapped is read through the file that was opened, whatever has
// its name by then, while it is parsed and afterwards, and takes no memory.
func TestOnDemand(t *testing.T) {
	noMore(t)
	data := ramp(3 << 20)
	for _, parse := range []bool{true, false} {
		path := temp(t, data)
		openings(t, path, Options{Parse: parse}, func(t *testing.T, r *Region, from int64) {
			expect.OK(t, os.Rename(path, path+".old"))
			defer os.Rename(path+".old", path)
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
			if b, err := r.Copy(0, 256); err != nil || !bytes.Equal(b, want[:256]) {
				t.Errorf("the beginning: %d bytes, %v", len(b), err)
			}
			read()
			r.Parsed()
			read()
			if !r.OnDemand() || r.InMemory() || r.Mapped() || held(r) != 0 || r.Bytes() != nil || residentOf(r) != 0 {
				t.Error("it is not read on demand, or is memory")
			}
			expect.OK(t, errors.Join(prefetch(r, 0, 100), evict(r), r.Close()))
			expect.Refused(t, tensor.ErrClosed, "after Close")(r.Slice(0, 1))
			expect.OK(t, r.Close())
		})
	}
}

// held returns the number of bytes of the window in heap memory.
func held(r *Region) int64 {
	if r.Mapped() {
		return 0
	}
	return int64(len(r.Bytes()))
}

// account counts reserved memory.
type account struct{ most, used int64 }

func (a *account) Reserve(n int64) error {
	if a.used+n > a.most {
		return tensor.ErrLimit
	}
	a.used += n
	return nil
}

func (a *account) Release(n int64) { a.used -= n }
