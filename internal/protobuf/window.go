package protobuf

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Window reads a part of a file piece by piece into private memory.
type Window struct {
	pieces     wire.Window
	base, size int64
}

// Open begins with size bytes at base of a file.
func (w *Window) Open(src wire.Sized, base, size int64) {
	w.base, w.size = base, size
	w.pieces.Open(src)
}

// Close lets others use the memory of the window.
func (w *Window) Close() { w.pieces.Close() }

// fill reads at least n bytes.
func (w *Window) fill(at, n int64) ([]byte, error) {
	if n > driver.MaxStructure {
		return nil, Defectf(at, tensor.ErrLimit, "%d bytes that are not data, the limit is %d", n, int64(driver.MaxStructure))
	}
	b, err := w.pieces.Piece(w.base+at, n)
	if err != nil {
		return nil, err
	}
	return b[:min(int64(len(b)), w.size-at)], nil
}
