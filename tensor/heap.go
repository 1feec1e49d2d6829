package tensor

import (
	"context"
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
)

// heap owns memory that the garbage collector frees. It is never closed and never faults.
type heap struct{ data memory.Hidden }

var _ memory.Owner[Info] = (*heap)(nil)

// onHeap returns a view of data in heap memory.
func onHeap(info *Info, data []byte) View {
	if data == nil {
		data = []byte{} // an empty tensor; nil would mean that it must be loaded
	}
	return View(memory.New(info, memory.Owner[Info](&heap{memory.Hide(data)}), data))
}

func (*heap) Enter(*Info) error  { return nil }
func (*heap) Leave()             {}
func (*heap) Expose(*Info) error { return nil }

// Load returns an aligned copy of misaligned memory.
func (h *heap) Load(*Info) ([]byte, error) {
	data := h.data.Bytes()
	b := memory.Aligned(len(data))
	copy(b, data)
	return b, nil
}

func (*heap) Ranged(*Info) bool { return false }

func (h *heap) ReadAt(_ context.Context, _ *Info, p []byte, off int64) error {
	copy(p, h.data.Bytes()[off:])
	return nil
}

func (*heap) Holds(uintptr) bool { return false }

func (*heap) Fault(addr uintptr) error { return fmt.Errorf("memory fault at %#x", addr) }

func (*heap) Explain(info *Info, err error) error {
	if errors.As(err, new(*Error)) {
		return err
	}
	return &Error{Field: fmt.Sprintf("tensor %q", info.Name), Offset: -1, Err: err}
}
