package npy

import (
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/strided"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// load returns the data of array i, little-endian and in row-major order.
func (f *parsed) load(i int) ([]byte, error) {
	e := &f.entries[i]
	b, err := e.Content(f.src)
	if err == nil && f.checks {
		err = e.Compare(tensor.CRC32(b))
	}
	if err != nil {
		return nil, f.located(i, err)
	}
	b = b[e.length:]
	if e.Packed && !e.fortran && !e.swap && e.length%dataAlign == 0 {
		return b, nil
	}
	out := memory.Aligned(len(b))
	if e.fortran {
		shape := f.index.Shape(i)
		strides, n := make([]int64, len(shape)), int64(1)
		for k, d := range shape {
			strides[k] = n
			n *= d
		}
		strided.Gather(out, b, shape, strides, int(e.elem.size))
	} else {
		copy(out, b)
	}
	if e.swap {
		strided.Swap(out, e.elem.word)
	}
	return out, nil
}

// dataAlign is the alignment of data that suffices for every dtype.
const dataAlign = 16

// located adds the name of tensor i to an error without a location.
func (f *parsed) located(i int, err error) error {
	var e *format.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return wire.Error("", fmt.Sprintf("tensor %q", f.index.Name(i)), f.entries[i].At, err)
}
