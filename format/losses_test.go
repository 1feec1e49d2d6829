package format

import (
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// tensorsOnly is a format with int8 tensors and nothing else.
type tensorsOnly struct{ driver.Writer }

func (tensorsOnly) Describe() driver.Description { return driver.Description{Name: "plain"} }

func (tensorsOnly) Losses(p *schema.Schema, _ *driver.LayoutOptions, l *schema.LossList) error {
	l.TensorsOnly(p, "plain")
	l.DTypes(p, "plain", []tensor.DType{tensor.Int8})
	return nil
}

// TestLossesOf: Losses lists all that such a format cannot hold, but for what the options accept.
func TestLossesOf(t *testing.T) {
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
	of := asFormat{tensorsOnly{}}
	got, err := Losses("", p, &WriteOptions{Format: of})
	expect.OK(t, err)
	want := []schema.Loss{
		{Kind: schema.LossQuantization, Name: "q", Why: "plain has no quantization parameters", Acceptable: true},
		{Kind: schema.LossMetadata, Name: "k", Why: "plain has no metadata (bool)", Acceptable: true},
		{Kind: schema.LossGraph, Why: "plain has no graph", Acceptable: true},
		{Kind: schema.LossDType, Name: "f", Why: "dtype float32 (plain has int8)"},
		{Kind: schema.LossDType, Name: "e", Why: "dtype Q4_0 (plain has int8)"},
	}
	expect.Equal(t, want, got)
	got, err = Losses("", p, &WriteOptions{Format: of, AcceptLoss: []string{"quantization", "metadata", "graph"}})
	expect.OK(t, err)
	expect.Equal(t, want[3:], got)
	p.Tensors = p.Tensors[:1]
	fitted, err := fit(tensorsOnly{}, p, &driver.LayoutOptions{}, []string{"quantization", "metadata", "graph"})
	expect.OK(t, err)
	expect.Equal(t, &schema.Schema{Tensors: []tensor.Info{{Name: "q", DType: tensor.Int8}}}, fitted)
	for name, o := range map[string]*WriteOptions{
		"an unknown loss":                 {Format: of, AcceptLoss: []string{"all"}},
		"an option that the format lacks": {Format: of, Key: make([]byte, 32)},
		"an option that makes no sense":   {Format: of, MaxShard: -1},
		"no format":                       nil,
	} {
		_, err := Losses("", p, o)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSignatureStateString(t *testing.T) {
	for s, want := range map[SignatureState]string{Unsigned: "unsigned", SignatureUnknown: "not checked", SignatureTrusted: "trusted", SignatureBad: "bad"} {
		expect.Equal(t, want, s.String())
	}
}
