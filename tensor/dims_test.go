package tensor

import (
	"math"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

func TestDims(t *testing.T) {
	type count uint16
	ints, err := Dims[int](Shape{2, 0, 3})
	expect.OK(t, err)
	expect.Equal(t, []int{2, 0, 3}, ints)
	scalar, err := Dims[uint64](nil)
	expect.OK(t, err)
	expect.Equal(t, []uint64{}, scalar)
	counts, err := Dims[count](Shape{math.MaxUint16})
	expect.OK(t, err)
	expect.Equal(t, []count{math.MaxUint16}, counts)
	all, err := Dims[uint64](Shape{math.MaxInt64})
	expect.OK(t, err)
	expect.Equal(t, []uint64{math.MaxInt64}, all)

	refused := []struct {
		name string
		err  error
	}{
		{"int8", dimsError[int8](Shape{1, 128})},
		{"int8, of which only the sign is lost", dimsError[int8](Shape{200})},
		{"uint8", dimsError[uint8](Shape{256})},
		{"uint16 of its own", dimsError[count](Shape{1 << 16})},
		{"int32", dimsError[int32](Shape{1 << 31})},
		{"uint32", dimsError[uint32](Shape{1 << 32})},
		{"negative", dimsError[int64](Shape{-1})},
		{"negative, as a large number", dimsError[uint64](Shape{-1})},
	}
	for _, c := range refused {
		expect.Refused(t, ErrShape, c.name)(nil, c.err)
	}
}

func dimsError[T Integer](s Shape) error {
	_, err := Dims[T](s)
	return err
}
