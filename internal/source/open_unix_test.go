//go:build linux || darwin

package source

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
	case <-time.After(20 * time.Second):
		t.Fatal("it hangs")
	}
}

// hook has f called between looking at a file and opening it.
func hook(t *testing.T, f func()) {
	testHookHeld = f
	t.Cleanup(func() { testHookHeld = nil })
}

// TestOpenNeverWaits: a pipe is refused, and one that takes the place of a file while
// that is opened is not met: opening it would wait for its other end.
func TestOpenNeverWaits(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip("no pipes here: ", err)
	}
	for _, o := range []Options{{}, {NoLink: true}} {
		within(t, func() {
			if _, err := Open(pipe, o); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), "pipe") {
				t.Errorf("%+v: %v", o, err)
			}
		})
		data := ramp(5000)
		path := temp(t, data)
		hook(t, func() {
			if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o666)); err != nil {
				t.Error(err)
			}
		})
		within(t, func() {
			r, err := Open(path, o)
			if err != nil {
				t.Errorf("%+v: %v", o, err)
				return
			}
			defer r.Close()
			if b, err := r.Copy(0, r.Size()); err != nil || !bytes.Equal(b, data) {
				t.Error("these are not the bytes of the file that was looked at")
			}
		})
		testHookHeld = nil
	}
}

// TestOpenKinds: what is not a regular file is refused by its kind.
func TestOpenKinds(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(temp(t, ramp(9)), link))
	for _, tt := range []struct {
		path, kind string
		noLink     bool
	}{{dir, "directory", false}, {dir, "directory", true}, {link, "link", true}, {os.DevNull, "device", false}} {
		if _, err := Open(tt.path, Options{NoLink: tt.noLink}); !errors.Is(err, ErrNotRegular) || !strings.HasSuffix(err.Error(), ": "+tt.kind) {
			t.Errorf("%s: %v", tt.kind, err)
		}
	}
	mustOpen(t, link, Options{})
	secret := temp(t, ramp(9))
	must(t, os.Chmod(secret, 0))
	// Errors name the file as the caller did.
	if _, err := Open(secret, Options{}); os.Getuid() != 0 && (!errors.Is(err, os.ErrPermission) || strings.Contains(err.Error(), descriptors)) {
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
		if err != nil || r.OnDemand() != onDemand || r.Held() != a.used || !bytes.Equal(b, data) {
			t.Errorf("%d bytes may be taken: on demand %v, %d bytes of memory, %d counted, %v", most, r.OnDemand(), r.Held(), a.used, err)
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
		if err := errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, ramp(5000), 0o666)); err != nil {
			t.Error(err)
		}
	})
	if _, err := Open(path, Options{}); !errors.Is(err, ErrReplaced) {
		t.Errorf("replaced: %v", err)
	}
}

// TestSame: another file, and a file in another state, are not the one that was seen.
func TestSame(t *testing.T) {
	was := ID{dev: 1, ino: 2, size: 3, sec: 4, known: true}
	for now, want := range map[ID]error{was: nil, {1, 2, 2, 5, 0, true}: ErrCut, {1, 3, 2, 5, 0, true}: ErrReplaced, {1, 2, 3, 5, 0, true}: ErrReplaced} {
		if err := was.check(now); err != want {
			t.Errorf("%v: %v, want %v", now, err, want)
		}
	}
	if _, err := newHeap(math.MaxInt64); !errors.Is(err, tensor.ErrLimit) {
		t.Errorf("a buffer of all memory: %v", err)
	}
}
