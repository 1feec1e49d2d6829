//go:build linux || darwin

package tensor

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
)

// mapped is the owner of a mapping.
type mapped struct {
	decoder
	mem []byte
}

func (m *mapped) Holds(addr uintptr) bool {
	return fault.Within(addr, memory.Address(m.mem), len(m.mem))
}

// cut maps a file of size bytes that then is cut in half.
func cut(t *testing.T, size int) *mapped {
	t.Helper()
	testhost.NeedCuts(t)
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, size), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	if err := os.Truncate(path, int64(size/2)); err != nil {
		t.Fatal(err)
	}
	return &mapped{decoder{workers: 3}, mem}
}

// TestDecodeCut decodes tensors of a mapped file that was cut short.
func TestDecodeCut(t *testing.T) {
	const rows, columns = 1 << 10, 1 << 8
	o := cut(t, 8*rows*columns)
	scales := make([]float32, rows)
	for _, d := range allDTypes() {
		if d == Complex64 {
			continue
		}
		info := &Info{Name: "w", DType: d, Shape: Shape{rows, columns}, Size: rows * columns * d.Size()}
		middle := len(o.mem)/2 - int(info.Size/2)
		v := View(memory.New(info, memory.Owner[Info](o), o.mem[middle:][:info.Size]))
		quants := []*Quantization{nil}
		if d.isInteger() {
			quants = append(quants,
				&Quantization{Scales: scales[:1], Axis: PerTensor}, &Quantization{Scales: scales, Axis: 0},
				&Quantization{Scales: scales[:columns], Axis: 1}, &Quantization{Scales: scales[:1], Scheme: Logarithmic, Axis: PerTensor})
		}
		for _, q := range quants {
			info.Quant = q
			if x, err := Decode[float32](nil, v); x != nil || !errors.Is(err, ErrTruncated) {
				t.Errorf("%v %+v: %v", d, q, err)
			}
		}
	}
}
