package tensor

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/weightmap/weightmap/internal/memory"
)

// TestTooLarge: what no memory can hold is refused before it is asked for. Tensors of files that
// are not mapped may be larger than what can be addressed.
func TestTooLarge(t *testing.T) {
	v := onHeap(&Info{Name: "w", DType: Uint8, Shape: Shape{2, 1 << 61}, Size: 1 << 62}, make([]byte, 8))
	if _, err := v.Slice(Range{0, End}, Range{0, 1<<61 - 1}); !errors.Is(err, ErrLimit) {
		t.Errorf("a part: %v", err)
	}
	if _, err := Decode[float32](nil, v); !errors.Is(err, ErrLimit) {
		t.Errorf("all of it as float32: %v", err)
	}
}

// short is an owner whose reader ends before the tensor does, and counts what it is asked for.
type short struct {
	heap
	asked int
}

func (s *short) Ranged(*Info) bool { return true }

func (s *short) ReadAt(_ context.Context, _ *Info, p []byte, off int64) error {
	s.asked++
	if off+int64(len(p)) > int64(len(s.data.Bytes())) {
		return io.ErrUnexpectedEOF
	}
	copy(p, s.data.Bytes()[off:])
	return nil
}

// TestSliceProves: for a part that a reader only claims to have no memory is taken.
func TestSliceProves(t *testing.T) {
	const rows, row = 4, 256 << 20
	if first, last, n := (grid{Shape{3, 4, 5}, []Range{{0, 2}, {1, 3}, {2, 5}}, 1}).extent(); first != 5+2 || last != 1*20+2*5+4 || n != 2*2*3 {
		t.Errorf("%d elements from %d to %d", n, first, last)
	}
	s := &short{heap: heap{memory.Hide(make([]byte, 100))}}
	info := &Info{Name: "w", DType: Uint8, Shape: Shape{rows, row}, Size: rows * row}
	v := View(memory.New(info, memory.Owner[Info](s), nil))
	if _, err := v.Slice(Range{0, End}, Range{0, row / 2}); !errors.Is(err, io.ErrUnexpectedEOF) || s.asked != 1 {
		t.Errorf("%v after %d reads", err, s.asked)
	}
}
