package convert_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
	"github.com/weightmap/weightmap/wia"
)

// one is a tensor of a test's model.
type one struct {
	info tensor.Info
	data []byte
}

func raw(name string, d tensor.DType, shape tensor.Shape, data []byte) one {
	return one{tensor.Info{Name: name, DType: d, Shape: shape}, data}
}

func floats(name string, shape tensor.Shape, values ...float32) one {
	o := vector(name, values...)
	o.info.Shape = shape
	return o
}

func vector(name string, values ...float32) one { return encoded(name, tensor.Float32, values...) }

// encoded is a vector of numbers in a dtype.
func encoded[T float32 | float64](name string, d tensor.DType, values ...T) one {
	o := raw(name, d, tensor.Shape{int64(len(values))}, make([]byte, int64(len(values))*d.Size()))
	_ = tensor.Encode(o.data, d, values)
	return o
}

// wave returns n values between -2 and 2, no two neighbors of which are alike.
func wave(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(2 * math.Sin(float64(i)*0.7))
	}
	return list
}

// model writes a model and returns its path.
func model(t *testing.T, kind string, p schema.Schema, tensors ...one) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source."+kind)
	for _, o := range tensors {
		p.Tensors = append(p.Tensors, o.info)
	}
	w, err := format.Create(path, &p, &format.WriteOptions{Format: expect.Must(format.ByName(kind))})
	expect.OK(t, err)
	defer w.Abort()
	for _, o := range tensors {
		expect.OK(t, w.WriteTensor(o.info.Name, bytes.NewReader(o.data)))
	}
	expect.OK(t, w.Close())
	return path
}

// tensors writes tensors alone.
func tensors(t *testing.T, list ...one) string {
	t.Helper()
	return model(t, "safetensors", schema.Schema{}, list...)
}

// int8s quantizes to int8, by tensor.
var int8s = convert.Quantized(tensor.QuantizeOptions{})

func open(t *testing.T, path string) *format.Model {
	t.Helper()
	m, err := format.Open(path, &format.Options{Check: format.CheckAll})
	expect.OK(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// converted converts a file and opens the result.
func converted(t *testing.T, in, to string, o *convert.Options) (*format.Model, *convert.Report) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out."+to)
	report, err := convert.File(t.Context(), in, out, o)
	if err != nil {
		t.Fatalf("to %s: %v", to, err)
	}
	return open(t, out), report
}

// refused demands that a conversion fails with an error and writes nothing.
func refused(t *testing.T, in, to string, o *convert.Options, want error) error {
	t.Helper()
	dir := t.TempDir()
	_, err := convert.File(t.Context(), in, filepath.Join(dir, "out."+to), o)
	if !errors.Is(err, want) {
		t.Errorf("to %s: %v, want %v", to, err, want)
	}
	unwritten(t, dir)
	return err
}

// write converts a file to a path.
func write(t *testing.T, in, out string, o *convert.Options) {
	t.Helper()
	_, err := convert.File(t.Context(), in, out, o)
	expect.OK(t, err)
}

// accepting returns options that accept losses by name.
func accepting(losses ...string) *convert.Options {
	return &convert.Options{Write: &format.WriteOptions{AcceptLoss: losses}}
}

// losses returns the losses that an error lists.
func losses(err error) []schema.Loss {
	var l *schema.LossError
	if errors.As(err, &l) {
		return l.Losses
	}
	return nil
}

// content returns description and bytes of a tensor.
func content(t *testing.T, m *format.Model, name string) one {
	t.Helper()
	v, err := m.Tensor(name)
	expect.OK(t, err)
	b, err := v.Bytes()
	expect.OK(t, err)
	i := v.Info()
	return one{tensor.Info{Name: i.Name, DType: i.DType, Shape: i.Shape, Quant: i.Quant}, b}
}

// loose compares tensors of tests, and nothing with nothing.
var loose = cmp.Options{cmp.AllowUnexported(one{}), cmpopts.EquateEmpty()}

func diff(want, got any) string { return cmp.Diff(want, got, loose) }

// unwritten demands that a directory holds nothing but those files.
func unwritten(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	expect.OK(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	expect.Equal(t, want, got, loose)
}

// TestDType converts more elements than fit a piece, and to each type.
func TestDType(t *testing.T) {
	values := wave(1<<18 + 77)
	double := make([]float64, 5)
	for i := range double {
		double[i] = 1 + math.Ldexp(1, -11) + math.Ldexp(float64(i), -40)
	}
	labels := raw("labels", tensor.Int64, tensor.Shape{1}, le(8, 9))
	in := tensors(t, encoded("big", tensor.Float32, values...), labels, encoded("d", tensor.Float64, double...))
	for _, d := range []tensor.DType{tensor.Float64, tensor.Float32, tensor.Float16, tensor.BFloat16} {
		t.Run(d.String(), func(t *testing.T) {
			m, report := converted(t, in, "safetensors", &convert.Options{DType: d, Verify: true})
			if len(report.Losses)+len(report.Quantized) > 0 {
				t.Errorf("report %+v", report)
			}
			for _, want := range []one{encoded("big", d, values...), encoded("d", d, double...), labels} {
				if got := content(t, m, want.info.Name); !bytes.Equal(want.data, got.data) || diff(want.info, got.info) != "" {
					t.Errorf("%v, want %v, or other bytes", got.info, want.info)
				}
			}
		})
	}
}

// TestQuantize: data and parameters are those of tensor.Quantize, and real numbers
// come back within half a scale.
func TestQuantize(t *testing.T) {
	shape := tensor.Shape{3, 1 << 10, 101}
	n, err := shape.Elems()
	expect.OK(t, err)
	values := wave(int(n))
	in := tensors(t, floats("w", shape, values...))
	for name, o := range map[string]tensor.QuantizeOptions{
		"int8": {}, "int16": {DType: tensor.Int16}, "uint8": {DType: tensor.Uint8, Asymmetric: true},
		"first axis": {PerChannel: true}, "middle axis": {PerChannel: true, Axis: 1}, "last axis": {PerChannel: true, Axis: 2, DType: tensor.Int16},
	} {
		t.Run(name, func(t *testing.T) {
			data, q, stats, err := tensor.Quantize(values, shape, o)
			expect.OK(t, err)
			m, report := converted(t, in, "wia", &convert.Options{Quantize: convert.Quantized(o), Verify: true})
			expect.Equal(t, &convert.Report{Format: "wia", Quantized: []convert.Stats{{Name: "w", QuantStats: stats}}}, report, loose)
			if got := content(t, m, "w"); !bytes.Equal(got.data, data) || !q.Equal(got.info.Quant) {
				t.Errorf("other data, or the parameters %v, want %v", got.info.Quant, q)
			}
			decoded, err := tensor.Decode[float32](nil, m.At(0))
			expect.OK(t, err)
			half := float64(slices.Max(q.Scales)) / 2 * (1 + 1e-6)
			for i, x := range decoded {
				if e := math.Abs(float64(x) - float64(values[i])); e > half {
					t.Fatalf("element %d is off by %v, more than %v", i, e, half)
				}
			}
		})
	}
}

// TestQuantizeRefused names the tensor, and leaves nothing.
func TestQuantizeRefused(t *testing.T) {
	in := tensors(t, floats("fc.bad", tensor.Shape{1, 2}, 1, float32(math.NaN())))
	for name, tt := range map[string]struct {
		o    tensor.QuantizeOptions
		want error
	}{
		"not a number": {tensor.QuantizeOptions{}, format.ErrQuantization},
		"no such axis": {tensor.QuantizeOptions{PerChannel: true, Axis: 2}, format.ErrQuantization},
		"no such type": {tensor.QuantizeOptions{DType: tensor.Int64}, format.ErrDType},
	} {
		err := refused(t, in, "wia", &convert.Options{Quantize: convert.Quantized(tt.o)}, tt.want)
		var located *tensor.Error
		if !errors.As(err, &located) || located.Field != `tensor "fc.bad"` {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestQuantizeSome: the others get DType.
func TestQuantizeSome(t *testing.T) {
	in := tensors(t, floats("w", tensor.Shape{2, 2}, 1, 2, 3, 127), vector("b", 1), floats("h", tensor.Shape{1, 1}, 2))
	m, _ := converted(t, in, "wia", &convert.Options{DType: tensor.BFloat16, Quantize: func(i tensor.Info) *tensor.QuantizeOptions {
		switch {
		case i.Name == "h":
			return &tensor.QuantizeOptions{DType: tensor.Float16}
		case len(i.Shape) > 1:
			return &tensor.QuantizeOptions{}
		}
		return nil
	}})
	for _, want := range []one{
		{tensor.Info{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{2, 2}, Quant: &tensor.Quantization{Scales: []float32{1}, Axis: tensor.PerTensor}}, []byte{1, 2, 3, 127}},
		raw("b", tensor.BFloat16, tensor.Shape{1}, []byte{0x80, 0x3f}),
		raw("h", tensor.Float16, tensor.Shape{1, 1}, []byte{0, 0x40}),
	} {
		expect.Equal(t, want, content(t, m, want.info.Name), loose)
	}
}

// TestQuantizeInVain: integers without their scales are no use to anybody, whatever
// else may get lost. The file has scales, or there is none.
func TestQuantizeInVain(t *testing.T) {
	in := tensors(t, floats("w", tensor.Shape{1, 2}, 1, 2))
	for _, to := range []string{"npz", "tsr", "safetensors"} {
		o := &convert.Options{Lossy: true, Quantize: int8s}
		list := losses(refused(t, in, to, o, format.ErrSchema))
		if list == nil || list[0].Item() != "quantization:w" {
			t.Errorf("%s: %v", to, list)
		}
		for _, accept := range []string{"quantization", "quantization:w"} { // the integers mean nothing without their scales
			o.Write = &format.WriteOptions{AcceptLoss: []string{accept}}
			refused(t, in, to, o, format.ErrSchema)
		}
	}
}

func TestLosses(t *testing.T) {
	s := schema.Schema{Metadata: schema.Metadata{{Key: "author", Value: "me"}, {Key: "epoch", Value: "7"}}}
	in := model(t, "safetensors", s, vector("w", 1))
	want := losses(refused(t, in, "npz", nil, format.ErrSchema))
	if len(want) != 2 {
		t.Fatalf("refused with %v", want)
	}
	_, report := converted(t, in, "npz", &convert.Options{Lossy: true, Verify: true})
	expect.Equal(t, want, report.Losses, loose)
	o := accepting("metadata:author")
	o.Lossy = true
	_, report = converted(t, in, "npz", o)
	expect.Equal(t, want[1:], report.Losses, loose)
	expect.Equal(t, accepting("metadata:author").Write.AcceptLoss, o.Write.AcceptLoss)

	// A dtype cannot be let go.
	bad := model(t, "safetensors", s, raw("c", tensor.Bool, tensor.Shape{1}, []byte{1}))
	if list := losses(refused(t, bad, "tsr", &convert.Options{Lossy: true}, format.ErrSchema)); len(list) != 3 {
		t.Errorf("a dtype that the target lacks: %v", list)
	}
}

// network is a graph of two nodes, one of which contains a graph, over tensors.
func network(inputs ...string) *schema.Graph {
	inner := &schema.Graph{
		Inputs: []schema.ValueInfo{}, Outputs: []schema.ValueInfo{{Name: "z"}},
		Nodes: []schema.Node{{Op: "Neg", Inputs: []string{"w"}, Outputs: []string{"z"}}},
	}
	g := &schema.Graph{
		Inputs: []schema.ValueInfo{{Name: "x", DType: tensor.Float32}}, Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32}},
		Initializers: inputs,
		Nodes: []schema.Node{
			{Op: "Add", Inputs: append([]string{"x"}, inputs...), Outputs: []string{"h"}},
			{Op: "If", Inputs: []string{"h"}, Outputs: []string{"y"}, Attributes: []schema.Attribute{{Name: "then", Value: inner}, {Name: "all", Value: []*schema.Graph{inner}}}},
		},
	}
	return g
}

// names lists what a graph calls its values.
func names(g *schema.Graph) []string {
	list := append([]string{}, g.Initializers...)
	for _, n := range g.Nodes {
		list = append(append(list, n.Inputs...), n.Outputs...)
		for _, a := range n.Attributes {
			switch v := a.Value.(type) {
			case *schema.Graph:
				list = append(list, names(v)...)
			case []*schema.Graph:
				for _, g := range v {
					list = append(list, names(g)...)
				}
			}
		}
	}
	return list
}

func TestRename(t *testing.T) {
	in := model(t, "wia", schema.Schema{Graph: network("w", "b")}, vector("w", 1), vector("b", 2))
	swap := func(s string) string { return map[string]string{"w": "b", "b": "model.b"}[s] }
	from := open(t, in)
	out := filepath.Join(t.TempDir(), "out.wia")
	_, err := convert.Model(t.Context(), from, out, &convert.Options{Rename: swap, Verify: true})
	expect.OK(t, err)
	if g, err := from.Graph(); err != nil || diff(names(network("w", "b")), names(g)) != "" {
		t.Errorf("the source's graph changed to %v, %v", names(g), err)
	}
	m := open(t, out)
	for name, value := range map[string]float32{"b": 1, "model.b": 2} {
		expect.Equal(t, vector(name, value), content(t, m, name), loose)
	}
	g, err := m.Graph()
	expect.OK(t, err)
	expect.Equal(t, strings.Fields("b model.b x b model.b h h y b z b z"), names(g), loose)
	for _, taken := range []string{"b", "h", "z"} { // by another tensor, a value of the graph, and one of an inner graph
		refused(t, in, "wia", &convert.Options{Rename: strings.NewReplacer("w", taken).Replace}, format.ErrSchema)
	}
}

func TestKeep(t *testing.T) {
	graph := network("w", "unused")
	graph.Nodes[0].Inputs = []string{"x", "w"}
	in := model(t, "wia", schema.Schema{Graph: graph}, vector("w", 1), vector("unused", 2))
	keep := func(name string) func(tensor.Info) bool {
		return func(i tensor.Info) bool { return i.Name == name }
	}
	m, report := converted(t, in, "wia", &convert.Options{Keep: keep("w"), Verify: true})
	g, err := m.Graph()
	if err != nil || g == nil || m.Len() != 1 || len(report.Losses) > 0 {
		t.Fatalf("%d tensors, graph %v, %v, %v", m.Len(), g, err, report)
	}
	expect.Equal(t, []string{"w"}, g.Initializers, loose)

	// Without a tensor that the graph needs, the graph is a loss.
	refused(t, in, "wia", &convert.Options{Keep: keep("unused")}, format.ErrSchema)
	_, report = converted(t, in, "wia", &convert.Options{Keep: keep("unused"), Lossy: true})
	want := []schema.Loss{{Kind: schema.LossGraph, Why: `it uses tensor "w", which is not kept`, Acceptable: true}}
	expect.Equal(t, want, report.Losses, loose)
	o := accepting("graph")
	o.Keep = keep("unused")
	if _, report = converted(t, in, "wia", o); len(report.Losses) > 0 {
		t.Errorf("%+v", report)
	}
}

// TestEncrypted goes through a format that encrypts, with Options.Format.
func TestEncrypted(t *testing.T) {
	want := vector("w", 1, 2)
	in := tensors(t, want)
	dir := t.TempDir()
	secret, out := filepath.Join(dir, "secret.mle"), filepath.Join(dir, "out.mle")
	o := &convert.Options{
		Verify: true,
		Read:   &format.Options{Key: bytes.Repeat([]byte{7}, 32)},
		Write:  &format.WriteOptions{Key: bytes.Repeat([]byte{7}, 32), Format: mle.Format{}},
	}
	write(t, in, secret, o)
	expect.Refused(t, format.ErrKey, "without the key")(convert.File(t.Context(), secret, out, nil))
	unwritten(t, dir, "secret.mle")
	write(t, secret, out, &convert.Options{Read: o.Read})
	expect.Equal(t, want, content(t, open(t, out), "w"), loose)
}

// TestCancel stops after some bytes of the second tensor: the old file stays.
func TestCancel(t *testing.T) {
	in := tensors(t, vector("a", wave(1<<19)...), vector("b", wave(1<<19)...))
	old := expect.Read(t, in)
	for name, o := range map[string]convert.Options{
		"kept": {}, "converted": {DType: tensor.Float16, Verify: true}, "quantized": {Quantize: int8s, Write: &format.WriteOptions{Format: wia.Format{}}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		to := format.WriteOptions{Progress: func(done, total int64, name string) {
			if done > total/2 {
				cancel()
			}
		}}
		if o.Write != nil {
			to.Format = o.Write.Format
		}
		o.Write = &to
		expect.Refused(t, context.Canceled, name)(convert.File(ctx, in, in, &o))
		cancel()
		unwritten(t, filepath.Dir(in), filepath.Base(in))
		if !bytes.Equal(old, expect.Read(t, in)) {
			t.Fatalf("%s: the file changed", name)
		}
	}
}

// TestOntoItself: the source is read while its successor is written.
func TestOntoItself(t *testing.T) {
	testhost.NeedReplace(t)
	path := model(t, "mag", schema.Schema{}, floats("w", tensor.Shape{1, 1 << 19}, wave(1<<19)...))
	for _, o := range []*convert.Options{
		nil,
		{Verify: true, DType: tensor.Float16},
		{Verify: true, Write: &format.WriteOptions{Format: safetensors.Format{}}},
		{Verify: true, Write: &format.WriteOptions{Format: wia.Format{}}, Quantize: int8s},
	} {
		write(t, path, path, o)
	}
	m := open(t, path)
	v, err := m.Tensor("w")
	expect.OK(t, err)
	if m.Format() != "wia" || v.DType() != tensor.Int8 || v.Info().Quant == nil {
		t.Errorf("%s, %v", m.Format(), v.DType())
	}
	unwritten(t, filepath.Dir(path), filepath.Base(path))
}

// TestReader: a model behind a reader is converted a piece at a time.
func TestReader(t *testing.T) {
	b := expect.Read(t, model(t, "mag", schema.Schema{}, vector("w", wave(1<<18+1)...)))
	most := 0
	m, err := format.OpenReaderAt(watched{bytes.NewReader(b), func(n int) { most = max(most, n) }}, int64(len(b)), nil)
	expect.OK(t, err)
	defer m.Close()
	for _, d := range []tensor.DType{tensor.Invalid, tensor.Float16} {
		_, err := convert.Model(t.Context(), m, filepath.Join(t.TempDir(), "out.safetensors"), &convert.Options{DType: d, Verify: true})
		expect.OK(t, err)
	}
	if most > 1<<20 {
		t.Errorf("%d bytes were read at a time", most)
	}
}

// watched calls a function with the size of each read.
type watched struct {
	io.ReaderAt
	read func(n int)
}

func (w watched) ReadAt(p []byte, off int64) (int, error) {
	w.read(len(p))
	return w.ReaderAt.ReadAt(p, off)
}

// TestPanics: what a program's functions panic with reaches the caller, also where they are called
// on goroutines of the library, and nothing is left.
func TestPanics(t *testing.T) {
	b := expect.Read(t, tensors(t, vector("a", wave(1<<19)...), vector("b", wave(1<<19)...)))
	now := false
	reader := watched{bytes.NewReader(b), func(int) {
		if now {
			panic("the reader")
		}
	}}
	for _, tt := range []struct {
		name string
		o    convert.Options
		want string
	}{
		{"converting", convert.Options{DType: tensor.Float16, Write: &format.WriteOptions{Format: safetensors.Format{}}}, "the reader"},
		{"observing", convert.Options{Quantize: int8s, Write: &format.WriteOptions{Format: wia.Format{}}}, "the reader"},
		{"progress", convert.Options{Write: &format.WriteOptions{
			Format:   safetensors.Format{},
			Progress: func(int64, int64, string) { panic("progress") },
		}}, "progress"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now = false
			m, err := format.OpenReaderAt(reader, int64(len(b)), nil)
			expect.OK(t, err)
			defer m.Close()
			now = tt.want == "the reader"
			dir := t.TempDir()
			got := func() (thrown any) {
				defer func() { thrown = recover() }()
				_, err := convert.Model(t.Context(), m, filepath.Join(dir, "out"), &tt.o)
				return err
			}()
			expect.Equal(t, any(tt.want), got, cmpopts.EquateErrors())
			unwritten(t, dir)
		})
	}
}

func TestOptions(t *testing.T) {
	in := model(t, "mag", schema.Schema{}, vector("w", 1))
	refused(t, in, "bin", nil, format.ErrUnknownFormat)
	refused(t, in, "mag", &convert.Options{DType: tensor.Int8}, format.ErrOption)
	refused(t, in, "mag", &convert.Options{QuantizeOnly: func(tensor.Info) bool { return true }}, format.ErrOption)
	refused(t, in, "mag", &convert.Options{Read: &format.Options{MaxMemory: 1}}, format.ErrLimit)
	expect.Refused(t, os.ErrNotExist)(convert.File(t.Context(), filepath.Join(t.TempDir(), "none.mag"), "out.mag", nil))
	var closed format.Model
	expect.Refused(t, format.ErrClosed, "a closed model")(convert.Model(t.Context(), &closed, filepath.Join(t.TempDir(), "out.mag"), nil))
}

// TestUnknownSize: elements that have no size are nothing to write in another format, and the error names
// them.
func TestUnknownSize(t *testing.T) {
	for _, to := range []string{"mobi", "mag", "tsr", "mle", "wia", "gguf", "npz", "onnx"} {
		list := losses(refused(t, "../safetensors/testdata/corpus/dtype-q9.safetensors", to, &convert.Options{Lossy: true, Write: &format.WriteOptions{Format: expect.Must(format.ByName(to))}}, format.ErrSchema))
		if !slices.ContainsFunc(list, func(l schema.Loss) bool {
			return l.Item() == "dtype:w" && !l.Acceptable && strings.Contains(l.Why, "Q9")
		}) {
			t.Fatalf("%s: %v", to, list)
		}
	}
}

// TestWrite: what is written to a writer is the file that Model makes; a dry run writes nothing, and so does what is refused.
func TestWrite(t *testing.T) {
	m := open(t, tensors(t, vector("a", 1, 2), vector("b", 3)))
	path := filepath.Join(t.TempDir(), "m")
	for _, to := range []string{"safetensors", "gguf", "mle", "wia", "mag", "npz", "onnx"} {
		_, err := convert.Model(t.Context(), m, path, &convert.Options{Write: &format.WriteOptions{Format: expect.Must(format.ByName(to))}})
		expect.OK(t, err)
		var out bytes.Buffer
		_, err = convert.Write(t.Context(), m, &out, &convert.Options{DryRun: true, Write: &format.WriteOptions{Format: expect.Must(format.ByName(to))}})
		expect.OK(t, err)
		expect.Equal(t, 0, out.Len())
		_, err = convert.Write(t.Context(), m, &out, &convert.Options{Write: &format.WriteOptions{Format: expect.Must(format.ByName(to))}})
		expect.OK(t, err)
		if !bytes.Equal(expect.Read(t, path), out.Bytes()) {
			t.Errorf("%s: another file", to)
		}
	}
	for name, test := range map[string]struct {
		o    convert.Options
		want error
	}{
		"no format": {convert.Options{}, format.ErrUnknownFormat},
		"verify": {convert.Options{
			Verify: true,
			Write:  &format.WriteOptions{Format: gguf.Format{}},
		}, format.ErrOption},
		"several files": {convert.Options{
			Write: &format.WriteOptions{Format: gguf.Format{}, MaxShard: 1},
		}, format.ErrOption},
		"tensor by file": {convert.Options{Write: &format.WriteOptions{Format: tsr.Format{}}}, format.ErrSchema},
	} {
		var out bytes.Buffer
		if _, err := convert.Write(t.Context(), m, &out, &test.o); !errors.Is(err, test.want) || out.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", name, err, out.Len())
		}
	}
}

// TestCutWhileConverted: of a source that is cut short after it was opened, nothing is written.
func TestCutWhileConverted(t *testing.T) {
	testhost.NeedCuts(t)
	for _, to := range []string{"gguf", "mag", "safetensors"} {
		in := model(t, "safetensors", schema.Schema{}, floats("a", tensor.Shape{1 << 20}, wave(1<<20)...))
		m, err := format.Open(in, nil)
		expect.OK(t, err)
		expect.OK(t, os.Truncate(in, 2<<20))
		out := filepath.Join(t.TempDir(), "out."+to)
		_, err = convert.Model(t.Context(), m, out, nil)
		var e *tensor.Error
		if !errors.Is(err, format.ErrTruncated) || !errors.As(err, &e) || e.Path != in {
			t.Errorf("%s: %v", to, err)
		}
		if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", to, err)
		}
		expect.OK(t, m.Close())
	}
}
