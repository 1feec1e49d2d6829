package source

import (
	"runtime"
	"testing"
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
	must(t, err)
	overwriteAt(t, path, []byte("written!"), 5000)
	if string(b) != "written!" {
		t.Errorf("the bytes are %q after the file was written", b)
	}
	if r.debug != debugBuild {
		t.Error("debug mode without being asked for")
	}
}
