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
	"strconv"
)

// lowest is the first address that counts as a fault of memory. Below it lie
// dereferences of nil with an offset, which are bugs and must stay panics.
const lowest = 64 << 10

// page is the smallest page size of any platform: memory appears and vanishes
// in multiples of it.
const page = 4096

// Error is a fault at an address.
type Error struct {
	Addr uintptr
}

// Error names the address in hexadecimal.
func (e *Error) Error() string {
	return "memory fault at 0x" + strconv.FormatUint(uint64(e.Addr), 16)
}

// Guard runs fn and returns its error, or an *Error when fn touched memory that
// is not there, wherever that lies. Callers compare the address with the memory
// they hold; GuardRange does so for them.
func Guard(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if v := recover(); v != nil {
			addr, ok := address(v)
			if !ok {
				panic(v)
			}
			err = &Error{Addr: addr}
		}
	}()
	return fn()
}

// GuardRange runs fn and returns -1 and its error. When fn touched missing
// memory within the size bytes from address base, it returns the offset from
// base and an *Error; faults elsewhere go on as panics.
//
// The offset is where the processor stopped, not necessarily the first missing
// byte: a bulk copy may begin at its end.
func GuardRange(base uintptr, size int, fn func() error) (off int, err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if v := recover(); v != nil {
			addr, ok := within(v, base, size)
			if !ok {
				panic(v)
			}
			off, err = int(addr-base), &Error{Addr: addr}
		}
	}()
	return -1, fn()
}

// GuardOwner runs fn and returns 0 and its error. When fn touched missing memory
// of an owner, it returns the address and an *Error; faults elsewhere go on as panics. holds
// reports whether an address lies in the memory. Since some processors report no more than the page, so
// does any address of the first page. It is a function because an interface would be converted at each call,
// and the name of a generic function's instance has all the owner's methods in it.
func GuardOwner(holds func(addr uintptr) bool, fn func() error) (addr uintptr, err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if v := recover(); v != nil {
			at, ok := address(v)
			if !ok || !holds(at) {
				panic(v)
			}
			addr, err = at, &Error{Addr: at}
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
func try(dst, src []byte, base uintptr) (ok bool) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if v := recover(); v != nil {
			if _, in := within(v, base, len(src)); !in {
				panic(v)
			}
			ok = false
		}
	}()
	copy(dst, src)
	return true
}

// address returns the address that a recovered panic carries, if the runtime
// raised it for a fault.
func address(v any) (uintptr, bool) {
	e, ok := v.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok || e.Addr() < lowest {
		return 0, false
	}
	return e.Addr(), true
}

// within is address for faults in the size bytes from base. Some processors
// (s390x) report the page only, so an address before base in its page counts
// as base itself.
func within(v any, base uintptr, size int) (uintptr, bool) {
	addr, ok := address(v)
	if !ok || !Within(addr, base, size) {
		return 0, false
	}
	return max(addr, base), true
}
