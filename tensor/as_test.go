package tensor

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
)

// TestCast holds the one unsafe conversion to what it promises.
func TestCast(t *testing.T) {
	mem := memory.Aligned(64)
	if _, ok := memory.Cast[uint32](mem[1:9]); ok {
		t.Error("misaligned")
	}
	for want, b := range map[int][]byte{0: mem[3:3], 1: mem[:7], 3: mem[4:16:18]} {
		if s, ok := memory.Cast[uint32](b); !ok || len(s) != want || cap(s) != want {
			t.Errorf("%d bytes: %v, %v", len(b), s, ok)
		}
	}
	// The copying version agrees.
	for i := range mem {
		mem[i] = byte(3 * i)
	}
	want := make([]uint32, 16)
	vector.Copy(want, mem, 4)
	if got, ok := memory.Cast[uint32](mem); memory.LittleEndian && (!ok || !cmp.Equal(want, got)) {
		t.Error("cast and copy differ")
	}
}

func TestAsErrorsNameTheTensor(t *testing.T) {
	for want, info := range map[string]Info{
		"int8": {Name: "w", DType: Int8, Shape: Shape{1}, Offset: 64, Size: 1},
		"Q9":   {Name: "w", Encoding: &Encoding{Name: "Q9", BlockElems: 4, BlockBytes: 1}, Shape: Shape{4}, Offset: 64, Size: 1},
	} {
		_, err := As[float32](newView(&info, &owner{}, at(1, 0)))
		want = `test: file.test: at 0x40: tensor "w": wrong dtype: ` + want + ", not float32"
		if fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
