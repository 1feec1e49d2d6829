//go:build linux || darwin

package vector

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
)

// cutFile maps a file of so many pages that then is truncated to keep of them.
func cutFile(t *testing.T, pages, keep int) []byte {
	t.Helper()
	testhost.NeedCuts(t)
	size := os.Getpagesize()
	path := filepath.Join(t.TempDir(), "f")
	expect.OK(t, os.WriteFile(path, bytes.Repeat([]byte{0xa5}, pages*size), 0o666))
	f, err := os.Open(path)
	expect.OK(t, err)
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), 0, pages*size, syscall.PROT_READ, syscall.MAP_SHARED)
	expect.OK(t, err)
	t.Cleanup(func() { syscall.Munmap(mem) })
	expect.OK(t, os.Truncate(path, int64(keep*size)))
	return mem
}

var sum uint32 // keeps the compiler from dropping the reads

// readers are all routines as functions of a source alone, whose results go to memory
// of their own.
func readers() map[string]func(src []byte) {
	all := map[string]func(src []byte){
		"adler32": func(src []byte) { sum = Adler32(1, src) },
	}
	for _, c := range blockCodes() {
		all["blocks, "+c.name] = func(src []byte) {
			n := len(src) / c.stride
			c.decode(make([]float32, 32*n), src[len(src)-n*c.stride:], halfScales(0, n), noMinimums(n))
		}
	}
	for _, g := range groupLayouts() {
		all["groups, "+g.String()] = func(src []byte) {
			g.Size, g.Unpack = groupBits, func(*Scales, []byte) {} // only the routine reads
			n := len(src) / g.Size
			g.Decode(make([]float32, groupElems*n), src[len(src)-n*g.Size:])
		}
	}
	for _, c := range conversions() {
		for _, stream := range []bool{false, true} {
			all[fmt.Sprintf("%s, stream %v", c.name, stream)] = func(src []byte) {
				c.convert(make([]float32, len(src)/c.size), src, stream)
			}
		}
	}
	floats := map[string]func(src []float32){
		"range":               func(src []float32) { Range(src, 0, 0) },
		"quantize":            func(src []float32) { Quantize(make([]byte, len(src)), src, &Steps{Inverse: 1, Hi: 127}) },
		"range row":           func(src []float32) { RangeRow(src, make([]float32, len(src)), make([]float32, len(src))) },
		"quantize row":        func(src []float32) { QuantizeRow(make([]byte, len(src)), src, make([]Steps, len(src))) },
		"errors":              func(src []float32) { new(Errors).Add(src, make([]float32, len(src)), 0) },
		"errors, what stands": func(src []float32) { new(Errors).Add(make([]float32, len(src)), src, 0) },
		"q8":                  func(src []float32) { EncodeQ8(make([]byte, 2*len(src)), src) },
	}
	for _, e := range encoders {
		floats[e.name+" from float32"] = func(src []float32) { e.encode(make([]byte, 2*len(src)), src) }
	}
	for name, read := range floats {
		all[name] = func(src []byte) {
			src = src[-memory.Address(src)%4:]
			numbers, _ := memory.Cast[float32](src[:len(src)&^3])
			read(numbers)
		}
	}
	return all
}

func anywhere(uintptr) bool { return true }

// TestFaults reads over the end of a file that was cut short, with each routine: the
// fault must be an error, and name an address in what is missing. While it panics
// the garbage collector walks the stack and the stack is moved, both with the frame of
// the routine on it.
func TestFaults(t *testing.T) {
	const pages, keep = 40, 17
	mem := cutFile(t, pages, keep)
	size := os.Getpagesize()
	base := memory.Address(mem)
	for name, read := range readers() {
		t.Run(name, func(t *testing.T) {
			for _, from := range []int{0, 1, keep*size - 130, keep*size - 2, keep * size, (keep+1)*size + 8} {
				addr, _ := fault.Guard(anywhere, func() error {
					defer runtime.GC()
					defer grow(1000)
					read(mem[from:])
					return nil
				})
				if at := int(addr - base); at < keep*size || at >= len(mem) {
					t.Errorf("from %d on: fault at %d, not from %d to %d", from, at, keep*size, len(mem))
				}
			}
		})
	}
}

// grow takes so many frames of a kilobyte.
func grow(depth int) byte {
	var frame [1024]byte
	frame[depth%len(frame)] = byte(depth)
	if depth > 0 {
		frame[0] += grow(depth - 1)
	}
	return frame[depth%len(frame)]
}

// TestNothingBeyond reads to the last byte of a file that ends there: nothing after it is touched.
func TestNothingBeyond(t *testing.T) {
	const keep = 2
	mem := cutFile(t, 4, keep)
	end := keep * os.Getpagesize()
	for name, read := range readers() {
		t.Run(name, func(t *testing.T) {
			for n := 2; n <= end; n += 2 {
				if n > 400 && n%254 != 0 {
					continue
				}
				if addr, _ := fault.Guard(anywhere, func() error { read(mem[end-n : end]); return nil }); addr != 0 {
					t.Fatalf("%d bytes before the end: fault at %#x", n, addr)
				}
			}
		})
	}
}
