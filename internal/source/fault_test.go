//go:build linux || darwin

package source

import (
	"errors"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
)

var sink byte

// TestUseAfterCloseInDebugModeIsFatal: in debug mode a slice kept beyond Close faults, whether other files were mapped
// since or not.
func TestUseAfterCloseInDebugModeIsFatal(t *testing.T) {
	testhost.NeedMaps(t)
	path := temp(t, ramp(10000))
	for _, pinned := range []bool{false, true} {
		r := mustOpen(t, path, Options{Debug: true})
		b := r.Bytes()
		unpin, err := func() {}, r.Expose()
		if pinned {
			unpin, err = r.Pin()
		}
		expect.OK(t, errors.Join(err, r.Close()))
		if pinned {
			sink = b[0]
		}
		unpin()
		mustOpen(t, path, Options{})
		addr, _ := fault.Guard(func(uintptr) bool { return true }, func() error { sink = b[0]; return nil })
		if addr != memory.Address(b) {
			t.Errorf("pinned %v: a fault at %#x, want %#x", pinned, addr, memory.Address(b))
		}
	}
}
