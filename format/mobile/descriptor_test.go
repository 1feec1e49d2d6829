//go:build unix

package mobile

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// asset is a file in the middle of a larger one, as assets are in a package: at
// a multiple of 4.
func asset(t *testing.T, file []byte) (f *os.File, off int64) {
	t.Helper()
	off = 4096 + 4
	body := append(append(bytes.Repeat([]byte{0xaa}, int(off)), file...), bytes.Repeat([]byte{0xbb}, 100)...)
	f, err := os.Open(save(t, "base.apk", body))
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	return f, off
}

func TestDescriptor(t *testing.T) {
	file, want := sample(t)
	f, off := asset(t, file)
	_, err := f.Seek(17, io.SeekStart)
	expect.OK(t, err)
	m, err := OpenDescriptor(int32(f.Fd()), off, int64(len(file)), nil)
	expect.OK(t, err)
	defer m.Close()
	equal(t, "", want, describe(t, m))
	// A file object over the caller's descriptor would close it here.
	for range 3 {
		runtime.GC()
	}
	if at, err := f.Seek(0, io.SeekCurrent); at != 17 || err != nil {
		t.Errorf("the caller's descriptor is at %d, %v", at, err)
	}
	// FileOffset and the window's offset lead to the data in the whole file.
	x := get(t, m, "ids")
	got := make([]byte, x.ByteSize())
	if _, err := f.ReadAt(got, off+x.FileOffset()); err != nil || !bytes.Equal(got, ramp(20)) {
		t.Errorf("at offset %d + %d: %x, %v", off, x.FileOffset(), got, err)
	}
	expect.OK(t, f.Close())
	equal(t, "closed afterwards", want, describe(t, m))
}

func TestDescriptorErrors(t *testing.T) {
	file, _ := sample(t)
	f, off := asset(t, file)
	fd, size := int32(f.Fd()), int64(len(file))
	r, w, err := os.Pipe()
	expect.OK(t, err)
	defer r.Close()
	defer w.Close()
	for _, test := range []struct {
		name      string
		fd        int32
		off, size int64
		code      string
		text      string
	}{
		{"not open", 1 << 20, 0, -1, CodeFile, "descriptor: dup"},
		{"negative", -1, 0, -1, CodeFile, "descriptor: dup"},
		{"a pipe", int32(r.Fd()), 0, -1, CodeUnsupported, "pipe"},
		{"offset before the file", fd, -1, size, CodeOther, "offset -1"},
		{"longer than the file", fd, off, size + 101, CodeTruncated, ""},
		{"shorter than the model", fd, off, size - 64, CodeTruncated, "mag"},
		{"empty", fd, off, 0, CodeUnknownFormat, "magic"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := OpenDescriptor(test.fd, test.off, test.size, nil)
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			if got := ErrorCode(err); got != test.code || !strings.Contains(err.Error(), test.text) {
				t.Errorf("code %q, want %q and %q in: %v", got, test.code, test.text, err)
			}
		})
	}
	// The library's own descriptors are gone: the next one is the lowest free again.
	before := lowest(t)
	for range 5 {
		m, err := OpenDescriptor(fd, off, size, nil)
		expect.OK(t, err)
		m.Close()
	}
	if after := lowest(t); after != before {
		t.Errorf("the lowest free descriptor was %d and is %d", before, after)
	}
}

// lowest returns the lowest free descriptor.
func lowest(t *testing.T) uintptr {
	t.Helper()
	f, err := os.Open(os.DevNull)
	expect.OK(t, err)
	defer f.Close()
	return f.Fd()
}
