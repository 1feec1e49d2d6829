package source

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"golang.org/x/exp/mmap"
)

// maps tells whether x/exp/mmap maps on this system.
var maps = map[string]bool{"linux": true, "android": true, "darwin": true, "ios": true, "windows": true}[runtime.GOOS]

// What another writes to the file shows in the bytes: they are the mapping and
// no copy. An upgrade of x/exp that moves its field fails here.
func TestMappingIsTheFile(t *testing.T) {
	path := temp(t, ramp(10000))
	r := mustOpen(t, path, Options{})
	if r.Mapped() != maps {
		t.Fatalf("mapped: %v, want %v on %s", r.Mapped(), maps, runtime.GOOS)
	}
	if !maps {
		t.Skip("x/exp/mmap does not map on", runtime.GOOS)
	}
	b, err := r.Slice(5000, 8)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("written!"), 5000); err != nil {
		t.Fatal(err)
	}
	if string(b) != "written!" {
		t.Errorf("the bytes are %q after the file was written", b)
	}
	if r.debug != debugBuild {
		t.Error("debug mode without being asked for")
	}
}

// An empty file has an empty mapping, which is not a missing one.
func TestMappingOfAnEmptyFile(t *testing.T) {
	ra, err := mmap.Open(temp(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer ra.Close()
	if b, ok := mapping(ra); ok != maps || len(b) != 0 {
		t.Errorf("%d bytes, %v", len(b), ok)
	}
}

// Save-over-rename is how every writer here replaces a file that may be mapped.
func TestRenameOverKeepsTheMapping(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows refuses to replace a mapped file")
	}
	old, now := ramp(10000), bytes.Repeat([]byte("new"), 3000)
	path := temp(t, old)
	r := mustOpen(t, path, Options{})
	if err := os.Rename(temp(t, now), path); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.Bytes(), old) {
		t.Error("the mapping changed")
	}
	if again := mustOpen(t, path, Options{}); !bytes.Equal(again.Bytes(), now) {
		t.Error("the new file does not show")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.Bytes(), old) {
		t.Error("the mapping changed with the file removed")
	}
	if _, err := Open(path, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed file: %v", err)
	}
}
