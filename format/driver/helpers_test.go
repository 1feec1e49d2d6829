package driver_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestErrorf: the error wraps the sentinel and what %w names, and says where.
func TestErrorf(t *testing.T) {
	err := driver.Errorf("flat", "dims", 12, tensor.ErrCorrupt, "%d of %w", 3, fs.ErrInvalid)
	var e *tensor.Error
	if !errors.Is(err, tensor.ErrCorrupt) || !errors.Is(err, fs.ErrInvalid) || !errors.As(err, &e) {
		t.Fatalf("%v lacks sentinel or cause", err)
	}
	expect.Equal(t, []any{"flat", "dims", int64(12), "corrupt: 3 of invalid argument"}, []any{e.Format, e.Field, e.Offset, e.Err.Error()})
}

// tensorsOnly is a format with int8 tensors and nothing else.
type tensorsOnly struct{ driver.Writer }

func (tensorsOnly) Describe() driver.Description { return driver.Description{Name: "plain"} }

func (tensorsOnly) Losses(p *schema.Schema, _ *driver.WriteOptions, l *schema.LossList) error {
	l.TensorsOnly(p, "plain")
	l.DTypes(p, "plain", []tensor.DType{tensor.Int8})
	return nil
}

// TestTensorsOnly: all that such a format cannot hold is on the list, and what can be
// accepted goes.
func TestTensorsOnly(t *testing.T) {
	quant := &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{1}}
	p := &schema.Schema{
		Metadata: schema.Metadata{{Key: "k", Value: true}},
		Tensors: []tensor.Info{
			{Name: "q", DType: tensor.Int8, Quant: quant},
			{Name: "f", DType: tensor.Float32},
			{Name: "e", Encoding: &tensor.Encoding{Name: "Q4_0"}},
		},
		Graph: &schema.Graph{Name: "g"},
	}
	_, err := driver.Fit(tensorsOnly{}, p, &driver.WriteOptions{}, nil)
	var losses *schema.LossError
	if !errors.As(err, &losses) {
		t.Fatalf("%v, want a LossError", err)
	}
	want := []schema.Loss{
		{Kind: schema.LossQuantization, Name: "q", Why: "plain has no quantization parameters", Acceptable: true},
		{Kind: schema.LossMetadata, Name: "k", Why: "plain has no metadata (bool)", Acceptable: true},
		{Kind: schema.LossGraph, Why: "plain has no graph", Acceptable: true},
		{Kind: schema.LossDType, Name: "f", Why: "dtype float32 (plain has int8)"},
		{Kind: schema.LossDType, Name: "e", Why: "dtype Q4_0 (plain has int8)"},
	}
	expect.Equal(t, want, losses.Losses)
	p.Tensors = p.Tensors[:1]
	got, err := driver.Fit(tensorsOnly{}, p, &driver.WriteOptions{}, []string{"quantization", "metadata", "graph"})
	expect.OK(t, err)
	expect.Equal(t, &schema.Schema{Tensors: []tensor.Info{{Name: "q", DType: tensor.Int8}}}, got)
}
