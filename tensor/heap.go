package tensor

import (
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
)

// heap owns memory that the garbage collector frees. It is never closed and never faults. Of the
// embedded Failed it has the methods that do nothing.
type heap struct {
	memory.Failed[Info]
	data memory.Hidden
}

// onHeap returns a view of data in heap memory.
func onHeap(info *Info, data []byte) View {
	if data == nil {
		data = []byte{} // an empty tensor; nil would mean that it must be loaded
	}
	return View(memory.New[Info](info, &heap{data: memory.Hide(data)}, data))
}

// Load returns an aligned copy of misaligned memory.
func (h *heap) Load(*Info) ([]byte, error) {
	data := h.data.Bytes()
	return append(memory.Aligned(len(data))[:0], data...), nil
}

func (*heap) Explain(info *Info, err error) error {
	if errors.As(err, new(*Error)) {
		return err
	}
	return &Error{Field: fmt.Sprintf("tensor %q", info.Name), Offset: -1, Err: err}
}
