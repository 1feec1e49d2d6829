package fault

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// addrError stands for a runtime error with an address, as a fault raises it.
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

func TestGuardRange(t *testing.T) {
	const base, size = 0x10000100, 0x2000
	tests := []struct {
		name    string
		err     error
		throw   any
		size    int
		wantOff int
		wantErr error
		passes  bool // the panic goes on
	}{
		{name: "good", size: size, wantOff: -1},
		{name: "error", err: io.EOF, size: size, wantOff: -1, wantErr: io.EOF},
		{name: "first byte", throw: addrError(base), size: size, wantOff: 0, wantErr: &Error{base}},
		{name: "last byte", throw: addrError(base + size - 1), size: size, wantOff: size - 1, wantErr: &Error{base + size - 1}},
		{name: "behind", throw: addrError(base + size), size: size, passes: true},
		{name: "page of the start", throw: addrError(base - 0x100), size: size, wantOff: 0, wantErr: &Error{base}},
		{name: "page before", throw: addrError(base - 0x101), size: size, passes: true},
		{name: "empty range", throw: addrError(base), size: 0, passes: true},
		{name: "near nil", throw: addrError(8), size: size, passes: true},
		{name: "no address", throw: "boom", size: size, passes: true},
		{name: "not the runtime's", throw: io.EOF, size: size, passes: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var off int
			var err error
			v := recovered(func() {
				off, err = GuardRange(base, tt.size, func() error {
					if tt.throw != nil {
						panic(tt.throw)
					}
					return tt.err
				})
			})
			if tt.passes {
				if v != tt.throw {
					t.Fatalf("panic value %v, want %v", v, tt.throw)
				}
				return
			}
			if v != nil {
				t.Fatalf("panicked with %v", v)
			}
			var fe *Error
			if errors.As(err, &fe) {
				if diff := cmp.Diff(tt.wantErr, err); diff != "" {
					t.Error(diff)
				}
			} else if err != tt.wantErr {
				t.Errorf("error %v, want %v", err, tt.wantErr)
			}
			if off != tt.wantOff {
				t.Errorf("offset %d, want %d", off, tt.wantOff)
			}
		})
	}
}

func TestGuard(t *testing.T) {
	if err := Guard(func() error { return io.EOF }); err != io.EOF {
		t.Errorf("error %v, want EOF", err)
	}
	err := Guard(func() error { panic(addrError(0x7fff1234)) })
	if diff := cmp.Diff(error(&Error{0x7fff1234}), err); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("memory fault at 0x7fff1234", err.Error()); diff != "" {
		t.Error(diff)
	}
	var nilp *struct {
		pad [4096]byte
		x   int
	}
	v := recovered(func() { _ = Guard(func() error { nilp.x++; return nil }) })
	if v == nil {
		t.Error("a nil dereference was swallowed")
	}
}

// A fault beyond an inner guard's memory reaches the outer one, and the guard
// works again afterwards.
func TestGuardNests(t *testing.T) {
	const inner, outer = 0x10000000, 0x20000000
	for range 2 {
		var innerOff int
		off, err := GuardRange(outer, 4096, func() error {
			var err error
			innerOff, err = GuardRange(inner, 4096, func() error { panic(addrError(inner + 5)) })
			if err == nil {
				t.Error("inner fault was lost")
			}
			_, err = GuardRange(inner, 4096, func() error { panic(addrError(outer + 7)) })
			t.Error("went on after a fault")
			return err
		})
		if innerOff != 5 || off != 7 || err == nil {
			t.Errorf("inner %d, outer %d, error %v", innerOff, off, err)
		}
	}
}

func TestCopyGood(t *testing.T) {
	src := []byte("0123456789")
	tests := []struct {
		name string
		dst  int
		want string
	}{
		{"shorter", 4, "0123"},
		{"longer", 12, "0123456789"},
		{"empty", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dst := make([]byte, tt.dst)
			n, ok := Copy(dst, src, 1<<20)
			if diff := cmp.Diff(tt.want, string(dst[:n])); diff != "" || !ok {
				t.Error(ok, diff)
			}
		})
	}
}

func TestGuardsDoNotAllocate(t *testing.T) {
	src, dst := make([]byte, 100), make([]byte, 100)
	fn := func() error { return nil }
	tests := []struct {
		name string
		f    func()
	}{
		{"Guard", func() { _ = Guard(fn) }},
		{"GuardRange", func() { _, _ = GuardRange(1<<20, 1, fn) }},
		{"Copy", func() { Copy(dst, src, 1<<20) }},
	}
	for _, tt := range tests {
		if n := testing.AllocsPerRun(100, tt.f); n != 0 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
}

func BenchmarkGuardRange(b *testing.B) {
	fn := func() error { return nil }
	for b.Loop() {
		_, _ = GuardRange(1<<20, 1, fn)
	}
}

func BenchmarkCopy(b *testing.B) {
	src, dst := make([]byte, 64), make([]byte, 64)
	for b.Loop() {
		Copy(dst, src, 1<<20)
	}
}
