package fault

import (
	"io"
	"testing"
)

// addrError is like the runtime error of a fault, which has an address.
type addrError uintptr

func (addrError) Error() string   { return "fault" }
func (addrError) RuntimeError()   {}
func (e addrError) Addr() uintptr { return uintptr(e) }

// recovered runs f and returns the value it panicked with.
func recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// within returns a function that reports whether an address is among size bytes from base.
func within(base uintptr, size int) func(uintptr) bool {
	return func(addr uintptr) bool { return Within(addr, base, size) }
}

func TestGuard(t *testing.T) {
	const base, size = 0x10000100, 0x2000
	for _, tt := range []struct {
		name   string
		throw  any
		err    error
		want   uintptr
		passes bool // the panic propagates
	}{
		{name: "good"},
		{name: "error", err: io.EOF},
		{name: "first byte", throw: addrError(base), want: base},
		{name: "last byte", throw: addrError(base + size - 1), want: base + size - 1},
		{name: "behind", throw: addrError(base + size), passes: true},
		{name: "page of the start", throw: addrError(base - 0x100), want: base - 0x100},
		{name: "page before", throw: addrError(base - 0x101), passes: true},
		{name: "near nil", throw: addrError(8), passes: true},
		{name: "no address", throw: "boom", passes: true},
		{name: "not the runtime's", throw: io.EOF, passes: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var addr uintptr
			var err error
			v := recovered(func() {
				addr, err = Guard(within(base, size), func() error {
					if tt.throw != nil {
						panic(tt.throw)
					}
					return tt.err
				})
			})
			if tt.passes != (v != nil) || tt.passes && v != tt.throw {
				t.Fatalf("panicked with %v", v)
			}
			if addr != tt.want || err != tt.err {
				t.Errorf("%#x, %v; want %#x, %v", addr, err, tt.want, tt.err)
			}
		})
	}
	if Within(base, base, 0) {
		t.Error("an address is within no bytes")
	}
	var nilp *struct {
		pad [4096]byte
		x   int
	}
	if recovered(func() { _, _ = Guard(within(0, 1<<30), func() error { nilp.x++; return nil }) }) == nil {
		t.Error("a nil dereference was swallowed")
	}
}

// A fault outside an inner guard's memory reaches the outer one. The guard works again afterwards.
func TestGuardNests(t *testing.T) {
	const inner, outer = 0x10000000, 0x20000000
	for range 2 {
		var first uintptr
		addr, _ := Guard(within(outer, 4096), func() error {
			first, _ = Guard(within(inner, 4096), func() error { panic(addrError(inner + 5)) })
			_, err := Guard(within(inner, 4096), func() error { panic(addrError(outer + 7)) })
			t.Error("went on after a fault")
			return err
		})
		if first != inner+5 || addr != outer+7 {
			t.Errorf("inner %#x, outer %#x", first, addr)
		}
	}
}
