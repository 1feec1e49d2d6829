package mobi

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// quantImage returns a file with the given operators, whose constant 7 is int8 [2,3]
// with the values 0 to 5.
func quantImage(ops ...[]byte) []byte {
	return with(func(m *image) {
		m.records = [][]byte{recordOf(9, 0, []uint64{1}, f32s(1)), recordOf(7, 2, []uint64{2, 3}, []byte{0, 1, 2, 3, 4, 5})}
		m.ops = ops
	})
}

// first and second return operators that consume 7 as their first or second input.
func firstInput(params ...[]byte) []byte { return op(0, []uint32{7}, nil, params...) }
func second(params ...[]byte) []byte     { return op(0, []uint32{9, 7}, nil, params...) }

var (
	nan   = float32(math.NaN())
	plain = []float32{0, 1, 2, 3, 4, 5}
)

func TestQuantization(t *testing.T) {
	for _, c := range []struct {
		name string
		file []byte
		want []float32 // nil: ErrQuantization
	}{
		{"none", quantImage(firstInput()), plain},
		{"scale", quantImage(firstInput(param("input0_scale", 2, f32s(2)...))), []float32{0, 2, 4, 6, 8, 10}},
		{"of another input", quantImage(second(param("input0_scale", 2, f32s(2)...))), plain},
		{"zero point", quantImage(firstInput(param("input0_scale", 2, f32s(2)...), param("input0_zero_point", 0, i32s(1)...))), []float32{-2, 0, 2, 4, 6, 8}},
		{"lowest zero point", quantImage(firstInput(param("input0_scale", 2, f32s(1)...), param("input0_zero_point", 0, i32s(math.MinInt32)...))),
			[]float32{1 << 31, 1 << 31, 1 << 31, 1 << 31, 1 << 31, 1 << 31}},
		{"axis 0", quantImage(firstInput(param("input0_axis", 0, i32s(0)...), param("input0_scale", 6, array(f32s(1, 2), 4)...))), []float32{0, 1, 2, 6, 8, 10}},
		{"axis 1 with zero points", quantImage(firstInput(param("input0_axis", 0, i32s(1)...), param("input0_scale", 6, array(f32s(1, 2, 3), 4)...),
			param("input0_zero_point", 5, array(i32s(0, 1, 2), 4)...))), []float32{0, 0, 0, 3, 6, 9}},
		{"one zero point for all", quantImage(firstInput(param("input0_axis", 0, i32s(0)...), param("input0_scale", 6, array(f32s(1, 2), 4)...),
			param("input0_zero_point", 0, i32s(3)...))), []float32{-3, -2, -1, 0, 2, 4}},

		{"axis -1", quantImage(firstInput(param("input0_axis", 0, i32s(-1)...), param("input0_scale", 2, f32s(2)...))), nil},
		{"axis of another type", quantImage(firstInput(param("input0_axis", 1, u64s(0)...), param("input0_scale", 6, array(f32s(1, 2), 4)...))), nil},
		{"no scales", quantImage(firstInput(param("input0_scale", 6, i32s(0)...))), nil},
		{"zero points of another length", quantImage(firstInput(param("input0_axis", 0, i32s(1)...), param("input0_scale", 6, array(f32s(1, 2, 3), 4)...),
			param("input0_zero_point", 5, array(i32s(1, 2), 4)...))), nil},
		{"no zero points in the array", quantImage(firstInput(param("input0_scale", 2, f32s(2)...), param("input0_zero_point", 5, i32s(0)...))), nil},
		{"scale of another type", quantImage(firstInput(param("input0_scale", 3, u64s(0)...))), nil},
		{"zero point alone", quantImage(firstInput(param("input0_zero_point", 0, i32s(1)...))), nil},

		{"two consumers agree", quantImage(firstInput(param("input0_scale", 2, f32s(2)...)), second(param("input1_scale", 6, array(f32s(2), 4)...))), []float32{0, 2, 4, 6, 8, 10}},
		{"a zero point of 0 is none", quantImage(firstInput(param("input0_scale", 2, f32s(2)...)),
			second(param("input1_scale", 2, f32s(2)...), param("input1_zero_point", 0, i32s(0)...))), []float32{0, 2, 4, 6, 8, 10}},
		{"scales conflict", quantImage(firstInput(param("input0_scale", 2, f32s(2)...)), firstInput(param("input0_scale", 2, f32s(3)...))), nil},
		{"zero points conflict", quantImage(firstInput(param("input0_scale", 2, f32s(2)...)),
			firstInput(param("input0_scale", 2, f32s(2)...), param("input0_zero_point", 0, i32s(1)...))), nil},
		{"conflict, then agreement", quantImage(firstInput(param("input0_scale", 2, f32s(2)...)), firstInput(param("input0_scale", 2, f32s(3)...)),
			firstInput(param("input0_scale", 2, f32s(2)...))), nil},
		{"conflict within an operator", quantImage(op(0, []uint32{7, 7}, nil, param("input0_scale", 2, f32s(2)...), param("input1_scale", 2, f32s(3)...))), nil},
		{"axes conflict", quantImage(firstInput(param("input0_scale", 2, f32s(2)...)),
			firstInput(param("input0_scale", 6, array(f32s(2, 2), 4)...), param("input0_axis", 0, i32s(0)...))), nil},
		{"the same NaN", quantImage(firstInput(param("input0_scale", 2, f32s(nan)...)), firstInput(param("input0_scale", 2, f32s(nan)...))), []float32{nan, nan, nan, nan, nan, nan}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, f := range []*File{openImage(t, c.file), openRemote(t, c.file)} {
				checkReals(t, f, c.want)
			}
		})
	}
}

// checkReals decodes constant 7. Its stored values must be readable in any case.
func checkReals(t *testing.T, f *File, want []float32) {
	t.Helper()
	v, _ := f.Constant(7)
	stored, err := tensor.As[int8](v)
	if d := cmp.Diff([]int8{0, 1, 2, 3, 4, 5}, stored); d != "" || err != nil {
		t.Errorf("stored values: %v (-want +got)\n%s", err, d)
	}
	got, err := tensor.Decode[float32](nil, v)
	_, err64 := tensor.Decode[float64](nil, v)
	if want == nil {
		if !errors.Is(err, format.ErrQuantization) || !errors.Is(err64, format.ErrQuantization) {
			t.Errorf("real values %v, errors %v, %v", got, err, err64)
		}
		return
	}
	same := cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b })
	if d := cmp.Diff(want, got, same); d != "" || err != nil || err64 != nil {
		t.Errorf("real values: %v, %v (-want +got)\n%s", err, err64, d)
	}
	expect.OK(t, verify(t, f))
}
