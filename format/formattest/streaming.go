package formattest

import (
	"bytes"
	"context"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// streaming checks that Model.Stream returns the bytes of tensors, and of slices of them, as their
// views do.
func (x *subject) streaming(t *testing.T) {
	if x.verifyErr != nil {
		t.Skip("the sample does not verify")
	}
	for _, way := range x.ways(x.file, x.s.Options) {
		m, err := way.open(t)
		expect.OK(t, err)
		defer m.Close()
		var requests []format.Request
		var want [][]byte
		for name, v := range m.Tensors() {
			for _, slice := range slicesOf(v) {
				s, err := v.Slice(slice...)
				if err != nil {
					continue // inside of a block
				}
				b := make([]byte, s.Size())
				_, err = s.ReadInto(b)
				expect.OK(t, err)
				requests = append(requests, format.Request{Tensor: name, Slice: slice})
				want = append(want, b)
			}
		}
		got := make([]bytes.Buffer, len(want))
		ended := make([]int, len(want))
		ring := [][]byte{make([]byte, 1000), make([]byte, 1111)} // with room for a block of every format
		err = m.Stream(context.Background(), requests, ring, func(p format.Piece) error {
			got[p.Request].Write(p.Data)
			if p.Last {
				ended[p.Request]++
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: Stream: %v", way.name, err)
			continue
		}
		for i, q := range requests {
			if !bytes.Equal(want[i], got[i].Bytes()) || ended[i] != 1 {
				t.Errorf("%s: Stream of tensor %q, slice %v, returned other bytes than its view", way.name, q.Tensor, q.Slice)
			}
		}
	}
}

// slicesOf returns slices of a tensor: all of it, its first row, and the second half of each row.
func slicesOf(v tensor.View) [][]tensor.Range {
	list := [][]tensor.Range{nil}
	shape := v.Shape()
	if v.Elems() == 0 || len(shape) == 0 {
		return list
	}
	last := len(shape) - 1
	half := make([]tensor.Range, len(shape))
	for i := range last {
		half[i].To = tensor.End
	}
	half[last] = tensor.Range{From: shape[last] / 2, To: tensor.End}
	return append(list, []tensor.Range{tensor.At(0)}, half)
}
