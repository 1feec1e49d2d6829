package write

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

// Kinds are the values of -quantize, the most likely first. Each format supports some of them.
var Kinds = []string{"int8", "q8_0", "uint8", "int16", "float16"}

// kindNamed returns the kind that a name means, as people spell it, or "".
func kindNamed(name string) string {
	if strings.EqualFold(name, "q8_0") || strings.EqualFold(name, "q8") {
		return "q8_0"
	}
	d, _ := tensor.ParseDType(name)
	if !slices.Contains(Kinds, d.String()) {
		return ""
	}
	return d.String()
}

// optionsOf returns the library's options for a kind.
func optionsOf(name string) (o tensor.QuantizeOptions) {
	if name == "q8_0" {
		return tensor.QuantizeOptions{Encoding: gguf.Q8_0()}
	}
	o.DType, _ = tensor.ParseDType(name)
	return o
}

// kindsOf returns the kinds that a format supports, by trying to lay out a tensor. With a graph
// ONNX has nodes that dequantize.
func kindsOf(to string, graph bool) (has []string) {
	for _, kind := range Kinds {
		f, err := quantizing(to, kind)
		if err != nil {
			return nil
		}
		o := optionsOf(kind)
		t := tensor.Info{Name: "0", DType: o.DType, Encoding: o.Encoding, Shape: tensor.Shape{1, 32}}
		if kind != "float16" && o.Encoding == nil && !(to == "onnx" && graph && kind != "int16") {
			t.Quant = &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{1}}
		}
		t.Size, _ = t.ByteSize()
		lost, err := format.Losses("", &schema.Schema{Tensors: []tensor.Info{t}},
			&format.WriteOptions{Format: f, KeepNames: true})
		if err != nil {
			continue
		}
		if !slices.ContainsFunc(lost, func(l schema.Loss) bool {
			return l.Kind == schema.LossDType || l.Kind == schema.LossQuantization
		}) {
			has = append(has, kind)
		}
	}
	return has
}

// quantizing returns a format that can quantize tensors.
func quantizing(to, kind string) (format.Format, error) {
	if to == "mle" && kind != "float16" {
		return mle.Format{Quantized: true}, nil
	}
	return format.ByName(to)
}

// kindHelp returns a line for each kind with the formats that support it.
func kindHelp() string {
	all := "\nFormats that each Q works with (onnx needs a graph for int8 and uint8):\n"
	for _, kind := range Kinds {
		var formats []string
		for _, to := range format.Writable() {
			if slices.Contains(kindsOf(to, true), kind) {
				formats = append(formats, to)
			}
		}
		all += fmt.Sprintf("  %-8s %s\n", kind, strings.Join(formats, ", "))
	}
	return all
}

// kindError is returned for a kind that the target does not support.
type kindError struct {
	to, kind string
	has      []string
}

func (e *kindError) Error() string {
	if len(e.has) == 0 {
		return fmt.Sprintf("%s cannot store quantized tensors (%s)", e.to, strings.Join(Kinds, ", "))
	}
	if len(e.has) == 1 {
		return fmt.Sprintf("%s cannot store quantized %s; -quantize %s works", e.to, e.kind, e.has[0])
	}
	return fmt.Sprintf("%s cannot store quantized %s; -quantize %s work", e.to, e.kind,
		strings.Join(e.has, " and "))
}

// checkKind returns an error for a kind that the target does not support.
func (o *convertFlags) checkKind(m *format.Model, target string, opts *convert.Options) error {
	if o.quantize == "" {
		return nil
	}
	to := o.target(target)
	g, err := m.Graph()
	if err != nil {
		return err
	}
	if has := kindsOf(to, g != nil && len(g.Nodes) > 0); !slices.Contains(has, o.quantize) {
		return &kindError{to, o.quantize, has}
	}
	opts.Write.Format, err = quantizing(to, o.quantize)
	return err
}

// chooseQuantized sets the library's options for quantization.
func (o *convertFlags) chooseQuantized(opts *convert.Options) {
	if o.quantize == "" {
		return
	}
	q := optionsOf(o.quantize)
	q.Axis = convert.OutputAxis
	if o.target(o.path) == "mle" {
		q.Axis = 0 // its chunks are rows
	}
	chosen := modelfile.Matching(o.quantizeOnly, o.quantizeExcept)
	opts.Quantize = func(t tensor.Info) *tensor.QuantizeOptions {
		if !chosen(t) {
			return nil
		}
		each := q
		each.PerChannel = o.perChannel && len(t.Shape) > 1
		return &each
	}
	if len(o.quantizeOnly) > 0 {
		opts.QuantizeOnly = chosen
	}
}
