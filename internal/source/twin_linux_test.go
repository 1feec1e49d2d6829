package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
	"golang.org/x/sys/unix"
)

// TestPrivateClone: where the file system shares blocks, the copy is a file that is mapped,
// and no memory. The system call is replaced by a copy, which most file systems need.
func TestPrivateClone(t *testing.T) {
	cloneFile = func(to, from int) error {
		in, err := unix.Dup(from)
		if err != nil {
			return err
		}
		out, err := unix.Dup(to)
		if err != nil {
			return err
		}
		dst, src := os.NewFile(uintptr(out), "to"), os.NewFile(uintptr(in), "from")
		defer dst.Close()
		defer src.Close()
		_, err = io.Copy(dst, io.NewSectionReader(src, 0, 1<<40))
		return err
	}
	t.Cleanup(func() { cloneFile = unix.IoctlFileClone })
	data := ramp(100000)
	path := temp(t, data)
	if f, err := clone(mustFile(t, path)); err != nil {
		t.Skip("no files without names here: ", err)
	} else {
		f.Close()
	}
	a := &account{}
	twins(t, path, Options{Memory: a}, func(t *testing.T, open func() (*Region, error), from int) {
		overwrite(t, path, data)
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		overwrite(t, path, make([]byte, len(data)))
		if !r.Mapped() || r.Held() != 0 || !r.Copied() || !bytes.Equal(r.Bytes(), data[from:]) {
			t.Errorf("mapped %v, %d bytes of memory", r.Mapped(), r.Held())
		}
		if n := testhost.OpenFilesOf(t, path); n != 1 { // the one above
			t.Errorf("%d descriptors", n)
		}
	})
}

// TestMemoryFile: nobody changes a sealed file, and a region of one has no descriptor.
func TestMemoryFile(t *testing.T) {
	f, err := memoryFile()
	if err != nil {
		t.Skip("no files in memory here: ", err)
	}
	defer f.Close()
	if _, err := f.Write(ramp(5000)); err != nil {
		t.Fatal(err)
	}
	seal(f)
	if _, err := f.WriteAt([]byte{1}, 0); !errors.Is(err, os.ErrPermission) {
		t.Errorf("written to: %v", err)
	}
	if err := f.Truncate(1); !errors.Is(err, os.ErrPermission) {
		t.Errorf("cut short: %v", err)
	}
	// Debug keeps mappings.
	path, files, before := temp(t, ramp(5000)), testhost.OpenFilesOf(t, "/memfd:weightmap"), mappings(t, "/memfd:weightmap")
	r := mustOpen(t, path, Options{Private: true})
	if !r.Mapped() || r.Held() != 5000 {
		t.Skip("this file system shares blocks, or there is no /proc")
	}
	if n := testhost.OpenFilesOf(t, "/memfd:weightmap"); n != files {
		t.Errorf("%d descriptors, %d before", n, files)
	}
	if n := mappings(t, "/memfd:weightmap"); n != before+1 {
		t.Errorf("%d mappings", n)
	}
	if err := r.Close(); err != nil || mappings(t, "/memfd:weightmap") != before && !debugBuild {
		t.Errorf("still mapped after Close: %v", err)
	}
}

// TestUnfinishedCopy: of a copy that was not finished nothing stays open.
func TestUnfinishedCopy(t *testing.T) {
	path := temp(t, ramp(5000))
	mustOpen(t, path, Options{Private: true}) // now it is no fresh file
	files := testhost.OpenFilesOf(t, "/memfd:weightmap")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(path, Options{Private: true, Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := testhost.OpenFilesOf(t, "/memfd:weightmap"); n != files {
		t.Errorf("%d descriptors, %d before", n, files)
	}
}
