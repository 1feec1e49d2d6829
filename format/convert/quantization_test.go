package convert_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

// TestQuantizeKeeps: what would hurt more than it saves stays as it is, unless it is named.
func TestQuantizeKeeps(t *testing.T) {
	b := newNet(image("x", 1, 2, 2, 2))
	h := b.node("LayerNormalization", nil, b.node("Conv", nil, "x", "ln.conv", "c"), "scale", "shift")
	h = b.node("Add", nil, b.node("Add", nil, h, "shift2"), "table")
	b.graph.Outputs[0].Name = b.node("Gemm", nil, h, "gemm", "bias2")
	const norm, name = "constant of a normalization", "constant of a normalization, by its name"
	for _, tt := range []struct {
		tensor string
		shape  tensor.Shape
		graph  *schema.Graph
		want   string
	}{
		{"w", tensor.Shape{}, nil, "rank 0"},
		{"w", tensor.Shape{4}, nil, "rank 1"},
		{"w", tensor.Shape{2, 2}, nil, ""},
		{"b.running_mean", tensor.Shape{2, 2}, nil, name},
		{"b.running_var", tensor.Shape{2, 2}, nil, name},
		{"layer1.bn2.weight", tensor.Shape{2, 2}, nil, name},
		{"h.0.ln_1.weight", tensor.Shape{2, 2}, nil, name},
		{"LayerNorm/gamma", tensor.Shape{2, 2}, nil, name},
		{"blk.0.attn_norm.weight", tensor.Shape{2, 2}, nil, name},
		{"lnx.weight", tensor.Shape{2, 2}, nil, ""},
		{"normal.weight", tensor.Shape{2, 2}, nil, ""},
		{"attn.in_proj_bias", tensor.Shape{2, 2}, nil, "bias, by its name"},
		{"bias.weight", tensor.Shape{2, 2}, nil, ""},
		{"ln.conv", tensor.Shape{2, 2, 1, 1}, b.graph, ""}, // the graph knows better
		{"c", tensor.Shape{2, 1}, b.graph, "bias"},
		{"scale", tensor.Shape{2, 2}, b.graph, norm},
		{"shift2", tensor.Shape{1, 2, 1, 1}, b.graph, "bias or factor"},
		{"table", tensor.Shape{2, 2}, b.graph, ""},
		{"bias2", tensor.Shape{1, 2}, b.graph, "bias"},
		{"elsewhere.norm", tensor.Shape{2, 2}, b.graph, name},
	} {
		t.Run(tt.tensor+fmt.Sprint(tt.shape), func(t *testing.T) {
			n, _ := tt.shape.Elems()
			in := model(t, "onnx", schema.Schema{Graph: tt.graph}, floats(tt.tensor, tt.shape, wave(int(n))...))
			o := &convert.Options{Quantize: int8s}
			m, report := converted(t, in, "wia", o)
			var want []convert.Stayed
			if tt.want != "" {
				want = []convert.Stayed{{Name: tt.tensor, Why: tt.want}}
			}
			expect.Equal(t, want, report.Stayed)
			if got := m.At(0).DType() == tensor.Int8; got != (tt.want == "") {
				t.Errorf("quantized: %v", got)
			}
			o.QuantizeOnly = func(tensor.Info) bool { return true }
			if m, report = converted(t, in, "wia", o); len(report.Stayed) > 0 || m.At(0).DType() != tensor.Int8 {
				t.Errorf("named: %v", report)
			}
		})
	}
}

// TestOutputAxis: scales follow the outputs of the operator that uses a tensor.
func TestOutputAxis(t *testing.T) {
	for _, tt := range []struct {
		op     string
		attrs  attrs
		inputs string
		want   int
	}{
		{"Conv", nil, "x w", 0},
		{"ConvTranspose", nil, "x w", 1},
		{"Gemm", nil, "x w", 1},
		{"Gemm", attrs{"transB": int64(1)}, "x w", 0},
		{"MatMul", nil, "x w", 2},
		{"MatMul", nil, "w x", 1},
		{"Gather", nil, "w x", 0},
		{"LSTM", nil, "x w", 1},
	} {
		b := newNet(image("x", 1))
		b.node(tt.op, tt.attrs, strings.Fields(tt.inputs)...)
		b.tensors = []one{floats("w", tensor.Shape{2, 3, 4}, wave(24)...)}
		in := b.write(t, "onnx", 0)
		m, _ := converted(t, in, "wia", &convert.Options{Quantize: convert.Quantized(tensor.QuantizeOptions{PerChannel: true, Axis: convert.OutputAxis})})
		if q := m.At(0).Info().Quant; q.Axis != tt.want {
			t.Errorf("%s: axis %d, want %d", tt.op, q.Axis, tt.want)
		}
	}
}

// TestWarnings: weights as networks have them cause no warning, and those that lost more than usual are named in one line.
func TestWarnings(t *testing.T) {
	normal := func(n int) []float32 {
		r := rand.New(rand.NewPCG(1, 2))
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	gaussian := floats("gaussian", tensor.Shape{64, 256}, normal(64*256)...)
	vanishing := normal(64 * 256)
	for i := range 2 * 256 {
		vanishing[i] *= 1e-9
	}
	sparse := normal(64 * 256)
	for i := range sparse {
		if i%8 == 0 {
			sparse[i] = 1e-9
		}
	}
	spiked := normal(64 * 256)
	spiked[5] = 1000
	whole := tensor.QuantizeOptions{}
	rows := tensor.QuantizeOptions{PerChannel: true}
	for _, tt := range []struct {
		name    string
		tensors []one
		o       convert.Options
		want    []string
	}{
		{"normally distributed, by channel", []one{gaussian}, convert.Options{Quantize: convert.Quantized(rows)}, nil},
		{"normally distributed, one scale", []one{gaussian}, convert.Options{Quantize: convert.Quantized(whole)}, nil},
		{"normally distributed, float16", []one{gaussian}, convert.Options{DType: tensor.Float16}, nil},
		{"rows that are much smaller", []one{gaussian, floats("rows", tensor.Shape{64, 256}, vanishing...)}, convert.Options{Quantize: convert.Quantized(whole)},
			[]string{`1 tensor lost much: "rows" (2 rows became 0)`}},
		{"rows that are much smaller, each with its scale", []one{floats("rows", tensor.Shape{64, 256}, vanishing...)}, convert.Options{Quantize: convert.Quantized(rows)}, nil},
		{"rows below float16", []one{floats("rows", tensor.Shape{64, 256}, vanishing...)}, convert.Options{DType: tensor.Float16}, []string{`1 tensor lost much: "rows" (2 rows became 0)`}},
		{"an eighth is tiny", []one{floats("sparse", tensor.Shape{64, 256}, sparse...)}, convert.Options{Quantize: convert.Quantized(rows)},
			[]string{`1 tensor lost much: "sparse" (13.3 % of the numbers became 0)`}},
		{"an eighth is tiny, float16", []one{floats("sparse", tensor.Shape{64, 256}, sparse...)}, convert.Options{DType: tensor.Float16},
			[]string{`1 tensor lost much: "sparse" (12.5 % of the numbers became 0)`}},
		{"one number is much larger", []one{floats("a", tensor.Shape{64, 256}, spiked...), floats("b", tensor.Shape{64, 256}, spiked...), floats("c", tensor.Shape{64, 256}, spiked...), floats("d", tensor.Shape{64, 256}, spiked...)},
			convert.Options{Quantize: convert.Quantized(whole)}, []string{`4 tensors lost much: "a" (61 rows became 0, 100 % of the numbers became 0, SNR 17.9 dB), "b" (61 rows became 0, 100 % of the numbers became 0, SNR 17.9 dB), "c" (61 rows became 0, 100 % of the numbers became 0, SNR 17.9 dB) and 1 more`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, report := converted(t, tensors(t, tt.tensors...), "wia", &tt.o)
			expect.Equal(t, tt.want, report.Warnings)
		})
	}
}

// TestBlocks: rows of whole blocks become blocks, and numbers again; others stay and are listed.
func TestBlocks(t *testing.T) {
	n := 3 << 18 // more than a piece
	in := tensors(t, floats("w", tensor.Shape{3, 1 << 18}, wave(n)...), floats("odd", tensor.Shape{2, 33}, wave(66)...))
	o := tensor.QuantizeOptions{Encoding: gguf.Q8_0()}
	m, report := converted(t, in, "gguf", &convert.Options{Quantize: convert.Quantized(o), Verify: true})
	data, _, stats, err := tensor.Quantize(wave(n), tensor.Shape{3, 1 << 18}, o)
	expect.OK(t, err)
	want := &convert.Report{
		Format: "gguf", Quantized: []convert.Stats{{Name: "w", QuantStats: stats}},
		Stayed: []convert.Stayed{{Name: "odd", Why: "Q8_0 needs rows of a multiple of 32 elements, its shape is [2, 33]"}},
	}
	expect.Equal(t, want, report, loose)
	v, err := m.Tensor("w")
	expect.OK(t, err)
	if i := v.Info(); i.TypeName() != "Q8_0" || !bytes.Equal(data, content(t, m, "w").data) {
		t.Errorf("%s: other data, or another type", i.TypeName())
	}
	numbers, err := tensor.Decode[float64](nil, v)
	expect.OK(t, err)
	back, _ := converted(t, m.Path(), "npz", &convert.Options{Lossy: true, DType: tensor.Float64})
	if v, err = back.Tensor("w"); err != nil {
		t.Fatal(err)
	}
	if got, err := tensor.Decode[float64](nil, v); !slices.Equal(numbers, got) || v.DType() != tensor.Float64 {
		t.Errorf("%v: other numbers, %v", v, err)
	}
}

// spreading is a random network of convolutions, each with its normalization, whose channels
// differ by up to three decades, as training leaves them.
func spreading(seed uint64) *builder {
	b := newNet(image("x", 2, 3, 8, 8))
	b.seed = seed
	b.graph.Outputs[0].Dims = schema.FixedDims(2, 10)
	uniform := func(low, high float64) float64 { return low + (high-low)*(float64(b.random())+1)/2 }
	fill := func(name string, shape tensor.Shape, value func(i int) float64) string {
		n, _ := shape.Elems()
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(value(i))
		}
		b.tensors = append(b.tensors, floats(name, shape, values...))
		return name
	}
	h, in := "x", int64(3)
	for i := range 2 + int(seed%3) {
		out := int64(8 + 4*uniform(0, 2))
		channel := make([]float64, out)
		for c := range channel {
			channel[c] = math.Pow(10, uniform(-2, 1))
		}
		per, vector, id := int(in*9), tensor.Shape{out}, fmt.Sprint(i)
		h = b.node("Conv", attrs{"pads": list(1, 1, 1, 1)}, h,
			fill("w"+id, tensor.Shape{out, in, 3, 3}, func(i int) float64 { return channel[i/per] * uniform(-1, 1) }),
			fill("c"+id, vector, func(i int) float64 { return channel[i] * uniform(-1, 1) }))
		h = b.node("BatchNormalization", attrs{"epsilon": float32(1e-12)}, h,
			fill("gamma"+id, vector, func(int) float64 { return uniform(0.5, 1.5) }), fill("beta"+id, vector, func(int) float64 { return uniform(-1, 1) }),
			fill("mean"+id, vector, func(i int) float64 { return channel[i] * uniform(-1, 1) }),
			fill("var"+id, vector, func(i int) float64 { return channel[i] * channel[i] * float64(per) / 3 * uniform(0.5, 2) }))
		h, in = b.node("Relu", nil, h), out
	}
	h = b.node("Flatten", nil, b.node("GlobalAveragePool", nil, h))
	weights := func(i int) float64 { return uniform(-1, 1) }
	if seed%2 == 0 {
		b.node("Gemm", attrs{"transB": int64(1)}, h, fill("fc", tensor.Shape{10, in}, weights), fill("fc.b", tensor.Shape{10}, weights))
	} else {
		b.node("Gemm", nil, h, fill("fc", tensor.Shape{in, 10}, weights), fill("fc.b", tensor.Shape{10}, weights))
	}
	return b
}

// TestVerifyNumbers: MLE returns int8 tensors as real numbers, which are compared.
func TestVerifyNumbers(t *testing.T) {
	in := tensors(t, floats("w", tensor.Shape{4, 100}, wave(400)...))
	m, _ := converted(t, in, "wia", &convert.Options{Quantize: int8s})
	o := &convert.Options{Verify: true, Write: &format.WriteOptions{Format: mle.Format{Quantized: true}}}
	out, _ := converted(t, m.Path(), "mle", o)
	real := func(m *format.Model) []float32 {
		v, err := m.Tensor("w")
		expect.OK(t, err)
		x, err := tensor.Decode[float32](nil, v)
		expect.OK(t, err)
		return x
	}
	expect.Equal(t, real(m), real(out))
	stored, err := m.Tensor("w")
	expect.OK(t, err)
	returned, err := out.Tensor("w")
	expect.OK(t, err)
	expect.Equal(t, []tensor.DType{tensor.Int8, tensor.Float32}, []tensor.DType{stored.DType(), returned.DType()})
}

// quantizedNetwork goes from ONNX to int8 in another format and back.
func quantizedNetwork(t *testing.T, in, to string, perChannel bool) string {
	t.Helper()
	q, o := tensor.QuantizeOptions{PerChannel: perChannel, Axis: convert.OutputAxis}, &convert.Options{Lossy: true, Verify: true}
	if to == "mle" {
		q.Axis = 0
		o.Write = &format.WriteOptions{Format: mle.Format{Quantized: true}}
	}
	o.Quantize = convert.Quantized(q)
	m, report := converted(t, in, to, o)
	if len(report.Quantized) < 3 || len(report.Stayed) < 11 {
		t.Fatalf("to %s: %d quantized, %d stayed", to, len(report.Quantized), len(report.Stayed))
	}
	return translated(t, m.Path(), "onnx")
}
