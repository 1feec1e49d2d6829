package source

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
)

// mappings counts those of the file at path in this process.
func mappings(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("no /proc here:", err)
	}
	return strings.Count(string(text), path)
}

func TestCloseUnmaps(t *testing.T) {
	path := temp(t, ramp(10000))
	for _, debug := range []bool{false, true} {
		r := mustOpen(t, path, Options{Debug: debug})
		if n := mappings(t, path); n != 1 {
			t.Fatalf("%d mappings while open", n)
		}
		must(t, errors.Join(r.Expose(), r.Close()))
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
	r, err := Open(path, Options{})
	must(t, err)
	if lend {
		must(t, r.Expose())
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
		if _, err := Open(path, Options{}); err != nil {
			t.Fatal(err)
		}
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
	r, err := Open(path, Options{})
	must(t, err)
	b := r.Bytes()
	err = r.Guard(func() error {
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
