package tensor

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
)

// TestAsMisaligned: memory that is not aligned is copied, never viewed.
func TestAsMisaligned(t *testing.T) {
	for skip := range 8 {
		b := memory.Aligned(16 + skip)[skip:]
		copy(b, le(float64(1), float64(2)))
		v, err := FromBytes("w", Float64, Shape{2}, b)
		if err != nil {
			t.Fatal(err)
		}
		if v.ZeroCopy() != (skip == 0 && memory.LittleEndian) {
			t.Errorf("skip %d: ZeroCopy %v", skip, v.ZeroCopy())
		}
		if !memory.LittleEndian {
			continue
		}
		s, err := As[float64](v)
		if err != nil {
			t.Fatalf("skip %d: %v", skip, err)
		}
		if d := cmp.Diff([]float64{1, 2}, s); d != "" {
			t.Errorf("skip %d (-want +got)\n%s", skip, d)
		}
	}
}

// TestCast holds the one unsafe conversion to what it promises.
func TestCast(t *testing.T) {
	mem := memory.Aligned(64)
	if _, err := cast[uint32](mem[1:9]); !errors.Is(err, ErrMisaligned) {
		t.Errorf("misaligned: %v", err)
	}
	if _, err := cast[uint32](mem[:7]); !errors.Is(err, ErrShape) {
		t.Errorf("no whole number of elements: %v", err)
	}
	if s, err := cast[uint32](mem[3:3]); err != nil || len(s) != 0 {
		t.Errorf("nothing, misaligned: %v, %v", s, err)
	}
	if s, err := cast[uint16](mem[2:8:10]); err != nil || len(s) != 3 || cap(s) != 3 {
		t.Errorf("three words: %v, %v", s, err)
	}
	// The copying twin agrees.
	for i := range mem {
		mem[i] = byte(3 * i)
	}
	want := make([]uint32, 16)
	vector.Copy(want, mem, 4)
	if got, err := cast[uint32](mem); memory.LittleEndian && (err != nil || !cmp.Equal(want, got)) {
		t.Errorf("cast and copy differ: %v", err)
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
