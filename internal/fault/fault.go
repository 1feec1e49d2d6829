// Package fault turns memory faults into errors.
//
// Reading a page of a mapped file that no longer exists, because the file was truncated or its disk
// failed, raises a signal that ends the process. The functions of this package turn it into a panic
// of the reading goroutine (runtime/debug.SetPanicOnFault), recover the panic, and return the
// address. All other panics propagate unchanged.
//
// Guards nest: a fault outside the range of an inner guard reaches the outer one. A guard covers
// neither goroutines started inside it, except those of work.Each, nor the kernel: a system call on
// a missing page returns EFAULT.
package fault

import (
	"runtime"
	"runtime/debug"

	"github.com/weightmap/weightmap/internal/memory"
)

// lowest is the first address that counts as a memory fault. Faults below it are dereferences of
// nil with an offset, which are bugs and must remain panics.
const lowest = 64 << 10

// page is the smallest page size of any platform. Memory becomes invalid in multiples of it.
const page = 4096

// Error is what the runtime panics with at a memory fault.
type Error interface {
	runtime.Error
	// Addr returns the address of the fault.
	Addr() uintptr
}

// Guard calls fn and returns its error. If fn faults at an address for which holds returns true,
// Guard returns that address instead; other faults propagate as panics. The address is where the
// processor stopped, which need not be the first missing byte: a bulk copy may start at its end,
// and some processors report only the page.
func Guard(holds func(addr uintptr) bool, fn func() error) (addr uintptr, err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if v := recover(); v != nil {
			e, ok := v.(Error)
			if !ok || e.Addr() < lowest || !holds(e.Addr()) {
				panic(v)
			}
			addr = e.Addr()
		}
	}()
	return 0, fn()
}

// Within reports whether a fault at addr may be in the size bytes from base. An address before base
// in the same page counts, since some processors report only the page.
func Within(addr, base uintptr, size int) bool {
	return size > 0 && addr >= base-base%page && addr <= base+uintptr(size-1)
}

// Copy copies from src to dst, and reports whether all of src
// was readable. If not, n is the exact number of bytes before the first missing page; these were
// copied, and dst may also have been changed after them. A fault in dst propagates as a panic.
func Copy(dst, src []byte) (n int, ok bool) {
	n = min(len(dst), len(src))
	if try(dst[:n], src[:n]) {
		return n, true
	}
	// A bulk copy reads in any order, so the address of the fault does not tell where the memory
	// ends. Copy again page by page.
	for i := 0; i < n; {
		k := min(n-i, int(page-memory.Address(src[i:])%page))
		if !try(dst[i:i+k], src[i:i+k]) {
			return i, false
		}
		i += k
	}
	return n, true
}

// try copies src to dst, which have the same length, and reports whether src was readable.
func try(dst, src []byte) bool {
	holds := func(at uintptr) bool { return Within(at, memory.Address(src), len(src)) }
	addr, _ := Guard(holds, func() error { copy(dst, src); return nil })
	return addr == 0
}
