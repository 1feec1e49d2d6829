// Package fault turns memory faults into errors.
//
// Reading a page of a mapped file that is no longer there, because the file was
// truncated or its disk failed, raises a signal that ends the process. The
// functions of this package make it a panic of the one goroutine that reads
// (runtime/debug.SetPanicOnFault), recover that, and report the address.
// Everything else that panics inside goes on panicking with the same value.
//
// Guards nest: a fault that lies outside of the range of an inner guard reaches
// the outer one. A guard does not extend to goroutines started inside of it,
// nor to the kernel: a system call that is handed a missing page returns EFAULT.
package fault

import (
	"runtime"
	"runtime/debug"
)

// lowest is the first address that counts as a fault of memory. Below it lie
// dereferences of nil with an offset, which are bugs and must stay panics.
const lowest = 64 << 10

// page is the smallest page size of any platform: memory appears and vanishes
// in multiples of it.
const page = 4096

// Guard runs fn and returns 0 and its error, or the address when fn touched missing memory that holds knows;
// faults elsewhere go on as panics. The address is where the processor stopped, not necessarily the first
// missing byte: a bulk copy may begin at its end, and some processors report no more than the page.
func Guard(holds func(addr uintptr) bool, fn func() error) (addr uintptr, err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if v := recover(); v != nil {
			e, ok := v.(interface {
				runtime.Error
				Addr() uintptr
			})
			if !ok || e.Addr() < lowest || !holds(e.Addr()) {
				panic(v)
			}
			addr = e.Addr()
		}
	}()
	return 0, fn()
}

// Within reports whether a fault at addr may be one of the size bytes from
// base: on processors that report the page only, an address before base in its
// page may be.
func Within(addr, base uintptr, size int) bool {
	return size > 0 && addr >= base-base%page && addr <= base+uintptr(size-1)
}

// Copy copies like the built-in function from src, whose first byte lies at
// address base, and reports whether all of src was there. If not, n is the
// exact number of bytes before the first missing page, and these were copied;
// bytes of dst beyond them may have been written too.
// A fault in dst goes on as a panic.
func Copy(dst, src []byte, base uintptr) (n int, ok bool) {
	n = min(len(dst), len(src))
	if try(dst[:n], src[:n], base) {
		return n, true
	}
	// A bulk copy reads in any order, so the address of its fault does not tell
	// how far the memory goes: look again, page by page.
	for i := 0; i < n; {
		at := base + uintptr(i)
		k := min(n-i, int(page-at%page))
		if !try(dst[i:i+k], src[i:i+k], at) {
			return i, false
		}
		i += k
	}
	return n, true
}

// try copies src to dst, which are of one length, and reports whether src was there.
func try(dst, src []byte, base uintptr) bool {
	addr, _ := Guard(func(addr uintptr) bool { return Within(addr, base, len(src)) }, func() error { copy(dst, src); return nil })
	return addr == 0
}
