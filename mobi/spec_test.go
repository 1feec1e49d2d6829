package mobi

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

func TestNewTensor(t *testing.T) {
	f := openImage(t, small().bytes())
	v, _ := f.Constant(7)
	c, err := NewTensor(12, v)
	if err != nil {
		t.Fatal(err)
	}
	f.Close() // the constant is a copy
	want := Constant{ID: 12, DType: tensor.Int8, Shape: tensor.Shape{3, 1}, Data: []byte{0xFF, 0, 1},
		Quant: &tensor.Quantization{Scales: []float32{0.5, 1, 2}, ZeroPoints: []int32{-1}, Axis: 0}}
	if d := cmp.Diff(want, c); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	view, err := c.ToTensor()
	if err != nil {
		t.Fatal(err)
	}
	c.Data[0] = 9 // so is the view
	if d := cmp.Diff([]float32{0, 1, 4}, floats(t, view)); d != "" || view.Name() != "12" {
		t.Errorf("%q (-want +got)\n%s", view.Name(), d)
	}
}

func TestNewTensorErrors(t *testing.T) {
	shape := tensor.Shape{2}
	if _, err := NewTensorBytes(1, tensor.Int64, shape, make([]byte, 16)); !errors.Is(err, format.ErrUnsupported) {
		t.Errorf("int64: %v", err)
	}
	if _, err := NewTensorBytes(1, tensor.Int16, shape, make([]byte, 5)); !errors.Is(err, format.ErrShape) {
		t.Errorf("5 bytes: %v", err)
	}
	if c, err := NewTensorBytes(1, tensor.Int16, shape, make([]byte, 4)); err != nil || c.ID != 1 {
		t.Errorf("4 bytes: %v", err)
	}
	v, err := tensor.FromBytes("w", tensor.Uint8, shape, make([]byte, 2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewTensor(1, v); !errors.Is(err, format.ErrUnsupported) {
		t.Errorf("uint8: %v", err)
	}
	if _, err := NewTensor(1, tensor.View{}); err == nil {
		t.Error("a view of nothing makes a constant")
	}
	c := Constant{ID: 1, DType: tensor.Int8, Shape: tensor.Shape{3}, Data: []byte{1}}
	if _, err := c.ToTensor(); !errors.Is(err, format.ErrShape) {
		t.Errorf("ToTensor: %v", err)
	}
	if _, err := (&Config{Constants: []Constant{c}}).Bytes(); !errors.Is(err, format.ErrTruncated) {
		t.Errorf("Bytes: %v", err)
	}
	c.Data = []byte{1, 2, 3}
	if _, err := (&Config{Constants: []Constant{c, c}}).Bytes(); !errors.Is(err, format.ErrPlan) {
		t.Errorf("one id twice: %v", err)
	}
}
