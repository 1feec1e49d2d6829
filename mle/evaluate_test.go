package mle

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/tensor"
)

// This file runs models as the reference implementation does: nodes in file
// order, operators by the code in the file, operands from input_ids and weights
// from param_ids alone. So it shows what a copy or a conversion means to it.

// matrix is a value of a running model; most operators take two dims.
type matrix struct {
	shape []int
	data  []float32
}

func (m *matrix) rows() int           { return m.shape[0] }
func (m *matrix) cols() int           { return m.shape[1] }
func (m *matrix) row(i int) []float32 { return m.data[i*m.cols():][:m.cols()] }

func newMatrix(rows, cols int) *matrix {
	return &matrix{[]int{rows, cols}, make([]float32, rows*cols)}
}

// machine runs one file.
type machine struct {
	f      *File
	ir     *IR
	byID   map[uint32]int
	values map[uint32]*matrix
}

// evaluate runs the graph of a file on its inputs.
func evaluate(f *File, inputs ...*matrix) ([]*matrix, error) {
	ir, err := f.IR()
	if err != nil {
		return nil, err
	}
	m := &machine{f: f, ir: ir, values: map[uint32]*matrix{}}
	m.byID = ir.descriptorsByID()
	for i, in := range inputs {
		m.values[ir.Inputs[i]] = in
	}
	for i := range ir.Nodes {
		op := opTables[f.Header().Version][f.f.graph.node(i).code()]
		if err := m.run(op, &ir.Nodes[i]); err != nil {
			return nil, fmt.Errorf("node %d (%s): %w", i, op, err)
		}
	}
	var out []*matrix
	for _, id := range ir.Outputs {
		out = append(out, m.values[id])
	}
	return out, nil
}

// get returns value n of a list of ids: what a node made, or a constant.
func (m *machine) get(ids []uint32, n int) (*matrix, error) {
	if n >= len(ids) {
		return nil, fmt.Errorf("no id %d", n)
	}
	if v := m.values[ids[n]]; v != nil {
		return v, nil
	}
	i, ok := m.byID[ids[n]]
	if !ok || !m.ir.Tensors[i].Constant() || m.ir.Tensors[i].DType != tensor.Float32 {
		return nil, fmt.Errorf("id %d has no float32 value", ids[n])
	}
	d := &m.ir.Tensors[i]
	v, _ := m.f.Tensor(d.Name)
	data, err := tensor.Decode[float32](nil, v)
	value := &matrix{data: data}
	for _, dim := range d.Shape {
		value.shape = append(value.shape, int(dim))
	}
	return value, err
}

// operators are how many operands and params each takes, and what it does with
// them. Decomposition may have a second param.
var operators = map[string]struct {
	inputs, params int
	apply          func(in, params []*matrix) (*matrix, error)
}{
	"Linear": {1, 2, linear}, "MatMul": {2, 0, matmul}, "ReLU": {1, 0, relu}, "Softmax": {1, 0, softmax},
	"Add": {2, 0, elementwise(func(a, b float32) float32 { return a + b })},
	"Mul": {2, 0, elementwise(func(a, b float32) float32 { return a * b })},
	"SVM": {1, 3, svm}, "NaiveBayes": {1, 2, naiveBayes}, "KNN": {1, 2, knn}, "Clustering": {1, 1, clustering}, "Decomposition": {1, 1, decomposition},
}

func (m *machine) run(op string, n *IRNode) error {
	o, ok := operators[op]
	if !ok {
		return errors.New("not supported")
	}
	if op == "Decomposition" && len(n.Params) > 1 {
		o.params = 2
	}
	var in, params []*matrix
	for _, part := range []struct {
		ids   []uint32
		count int
		to    *[]*matrix
	}{{n.Inputs, o.inputs, &in}, {n.Params, o.params, &params}} {
		for i := range part.count {
			v, err := m.get(part.ids, i)
			if err != nil {
				return err
			}
			*part.to = append(*part.to, v)
		}
	}
	if op != "Add" && op != "Mul" && len(in[0].shape) != 2 {
		return fmt.Errorf("rank %d", len(in[0].shape))
	}
	out, err := o.apply(in, params)
	if err == nil {
		m.values[n.Outputs[0]] = out
	}
	return err
}

// dot is the product of two vectors, added up in order.
func dot(a, b []float32) (sum float32) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// distance is the square of that between two points.
func distance(a, b []float32) (sum float32) {
	for i := range a {
		d := a[i] - b[i]
		sum += d * d
	}
	return sum
}

// linear is x times the transposed weight, plus bias.
func linear(in, params []*matrix) (*matrix, error) {
	x, w, b := in[0], params[0], params[1]
	if len(w.shape) != 2 || w.cols() != x.cols() || len(b.data) != w.rows() {
		return nil, fmt.Errorf("shapes %v, %v, %v", x.shape, w.shape, b.shape)
	}
	out := newMatrix(x.rows(), w.rows())
	for i := range x.rows() {
		for j := range w.rows() {
			out.row(i)[j] = dot(x.row(i), w.row(j)) + b.data[j]
		}
	}
	return out, nil
}

func matmul(in, _ []*matrix) (*matrix, error) {
	a, b := in[0], in[1]
	if len(b.shape) != 2 || a.cols() != b.rows() {
		return nil, fmt.Errorf("shapes %v, %v", a.shape, b.shape)
	}
	out := newMatrix(a.rows(), b.cols())
	for i := range a.rows() {
		for j := range b.cols() {
			for k := range b.rows() {
				out.row(i)[j] += a.row(i)[k] * b.row(k)[j]
			}
		}
	}
	return out, nil
}

// elementwise takes operands of the same number of elements: nothing is
// broadcast.
func elementwise(fn func(a, b float32) float32) func(in, params []*matrix) (*matrix, error) {
	return func(in, _ []*matrix) (*matrix, error) {
		if len(in[0].data) != len(in[1].data) {
			return nil, fmt.Errorf("shapes %v, %v", in[0].shape, in[1].shape)
		}
		out := &matrix{in[0].shape, slices.Clone(in[0].data)}
		for i, b := range in[1].data {
			out.data[i] = fn(out.data[i], b)
		}
		return out, nil
	}
}

func relu(in, _ []*matrix) (*matrix, error) {
	out := &matrix{in[0].shape, slices.Clone(in[0].data)}
	for i, x := range out.data {
		out.data[i] = max(0, x)
	}
	return out, nil
}

// softmax works along rows.
func softmax(in, _ []*matrix) (*matrix, error) {
	out := &matrix{in[0].shape, slices.Clone(in[0].data)}
	for i := range out.rows() {
		row, sum := out.row(i), float32(0)
		most := slices.Max(row)
		for j, x := range row {
			row[j] = float32(math.Exp(float64(x - most)))
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
	}
	return out, nil
}

// svm takes support vectors, their coefficients for each class, and an intercept
// for each; the kernel is a Gaussian with gamma 0.1.
func svm(in, params []*matrix) (*matrix, error) {
	x, vectors, coefficients, intercept := in[0], params[0], params[1], params[2]
	if vectors.cols() != x.cols() || coefficients.cols() != vectors.rows() || len(intercept.data) < coefficients.rows() {
		return nil, fmt.Errorf("shapes %v, %v, %v", vectors.shape, coefficients.shape, intercept.shape)
	}
	out := newMatrix(x.rows(), coefficients.rows())
	for i := range out.rows() {
		for c := range out.cols() {
			sum := intercept.data[c]
			for s := range vectors.rows() {
				sum += coefficients.row(c)[s] * float32(math.Exp(float64(-0.1*distance(x.row(i), vectors.row(s)))))
			}
			out.row(i)[c] = sum
		}
	}
	return softmax([]*matrix{out}, nil)
}

// naiveBayes takes mean and variance of each feature in each class.
func naiveBayes(in, params []*matrix) (*matrix, error) {
	x, mean, variance := in[0], params[0], params[1]
	if mean.cols() != x.cols() || !slices.Equal(mean.shape, variance.shape) {
		return nil, fmt.Errorf("shapes %v, %v", mean.shape, variance.shape)
	}
	out := newMatrix(x.rows(), mean.rows())
	for i := range out.rows() {
		for c := range out.cols() {
			for k, v := range variance.row(c) {
				d := x.row(i)[k] - mean.row(c)[k]
				out.row(i)[c] += -0.5*float32(math.Log(2*math.Pi*float64(v))) - d*d/(2*v)
			}
		}
	}
	return softmax([]*matrix{out}, nil)
}

// knn lets the five nearest samples vote.
func knn(in, params []*matrix) (*matrix, error) {
	const k = 5
	x, samples, labels := in[0], params[0], params[1]
	if samples.cols() != x.cols() || samples.rows() < k || len(labels.data) != samples.rows() {
		return nil, fmt.Errorf("shapes %v, %v", samples.shape, labels.shape)
	}
	out := newMatrix(x.rows(), int(slices.Max(labels.data))+1)
	for i := range out.rows() {
		order := make([]int, samples.rows())
		for s := range order {
			order[s] = s
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(distance(x.row(i), samples.row(a)), distance(x.row(i), samples.row(b)))
		})
		for _, s := range order[:k] {
			out.row(i)[int(labels.data[s])] += 1.0 / k
		}
	}
	return out, nil
}

// clustering finds the nearest center.
func clustering(in, params []*matrix) (*matrix, error) {
	x, centers := in[0], params[0]
	if centers.cols() != x.cols() {
		return nil, fmt.Errorf("shapes %v, %v", x.shape, centers.shape)
	}
	out := newMatrix(x.rows(), 1)
	for i := range out.rows() {
		best := float32(math.MaxFloat32)
		for c := range centers.rows() {
			if d := distance(x.row(i), centers.row(c)); d < best {
				best, out.data[i] = d, float32(c)
			}
		}
	}
	return out, nil
}

// decomposition projects onto components, less the mean if there is one.
func decomposition(in, params []*matrix) (*matrix, error) {
	x, components := in[0], params[0]
	if components.cols() != x.cols() {
		return nil, fmt.Errorf("shapes %v, %v", x.shape, components.shape)
	}
	out := newMatrix(x.rows(), components.rows())
	for i := range out.rows() {
		at := slices.Clone(x.row(i))
		for k := 0; len(params) > 1 && k < len(at); k++ {
			at[k] -= params[1].data[k]
		}
		for c := range out.cols() {
			out.row(i)[c] = dot(at, components.row(c))
		}
	}
	return out, nil
}

// model builds a file around nodes: value 0 is the input of two features, then
// come the constants, then placeholders. Attributes and names are left out.
func model(version uint32, constants []matrix, placeholders int, output uint32, nodes ...gNode) *gFile {
	g := &gFile{version: version, inputs: []uint32{0}, outputs: []uint32{output}, nodes: nodes, tensors: []gTensor{{0, 0, []uint32{1, 2}, 0}}}
	if version == 2 {
		g.headerSize = 144
	}
	for _, c := range constants {
		d := gTensor{offset: uint64(len(g.weights)), size: uint64(4 * len(c.data))}
		for _, dim := range c.shape {
			d.shape = append(d.shape, uint32(dim))
		}
		g.tensors = append(g.tensors, d)
		g.weights = append(g.weights, floats(c.data...)...)
	}
	for range placeholders {
		g.tensors = append(g.tensors, gTensor{0, 0, []uint32{1, 2}, 0})
	}
	return g
}

func constant(rows, cols int, values ...float32) matrix {
	return matrix{[]int{rows, cols}, values}
}

// evaluated are models with what they must yield for the input (1, 2), by
// pencil.
var evaluated = []struct {
	name string
	file *gFile
	want []float32
}{
	{"Add(Mul(x,2),3)", model(2, []matrix{constant(1, 2, 2, 2), constant(1, 2, 3, 3)}, 2, 4,
		gNode{op: 8, inputs: []uint32{0, 1}, outputs: []uint32{3}}, gNode{op: 7, inputs: []uint32{3, 2}, outputs: []uint32{4}}),
		[]float32{5, 7}},
	{"Add(Mul(x,2),3) of version 1", model(1, []matrix{constant(1, 2, 2, 2), constant(1, 2, 3, 3)}, 2, 4,
		gNode{op: 8, inputs: []uint32{0, 1}, outputs: []uint32{3}}, gNode{op: 7, inputs: []uint32{3, 2}, outputs: []uint32{4}}),
		[]float32{5, 7}},
	{"constants alone", model(2, []matrix{constant(1, 2, 2, 4), constant(1, 2, 3, 5)}, 2, 4,
		gNode{op: 8, inputs: []uint32{1, 2}, outputs: []uint32{3}}, gNode{op: 7, inputs: []uint32{0, 3}, outputs: []uint32{4}}),
		[]float32{7, 22}},
	{"MatMul", model(2, []matrix{constant(2, 3, 1, 2, 3, 4, 5, 6)}, 1, 2, gNode{op: 6, inputs: []uint32{0, 1}, outputs: []uint32{2}}),
		[]float32{9, 12, 15}},
	{"Linear, ReLU, Softmax", model(2, []matrix{constant(2, 2, 1, 0, 0, -1), {[]int{2}, []float32{1, 1}}}, 3, 5,
		gNode{op: 1, inputs: []uint32{0}, outputs: []uint32{3}, params: []uint32{1, 2}},
		gNode{op: 2, inputs: []uint32{3}, outputs: []uint32{4}}, gNode{op: 4, inputs: []uint32{4}, outputs: []uint32{5}}),
		[]float32{0.880797, 0.119203}},
	{"SVM of version 1", model(1, []matrix{constant(2, 2, 1, 2, 2, 2), constant(2, 2, 1, 0, 0, 1), {[]int{2}, []float32{0.5, 0}}}, 1, 4,
		gNode{op: 28, inputs: []uint32{0}, outputs: []uint32{4}, params: []uint32{1, 2, 3}}),
		[]float32{0.644549, 0.355451}},
	{"SVM", model(2, []matrix{constant(2, 2, 1, 2, 2, 2), constant(2, 2, 1, 0, 0, 1), {[]int{2}, []float32{0.5, 0}}}, 1, 4,
		gNode{op: 29, inputs: []uint32{0}, outputs: []uint32{4}, params: []uint32{1, 2, 3}}),
		[]float32{0.644549, 0.355451}},
	{"NaiveBayes of version 1", model(1, []matrix{constant(2, 2, 1, 2, 2, 2), constant(2, 2, 1, 1, 1, 1)}, 1, 3,
		gNode{op: 29, inputs: []uint32{0}, outputs: []uint32{3}, params: []uint32{1, 2}}),
		[]float32{0.622459, 0.377541}},
	{"KNN of version 1", model(1, []matrix{constant(6, 2, 1, 2, 1, 3, 2, 2, 0, 2, 1, 1, 9, 9), {[]int{6}, []float32{1, 1, 0, 1, 1, 0}}}, 1, 3,
		gNode{op: 30, inputs: []uint32{0}, outputs: []uint32{3}, params: []uint32{1, 2}}),
		[]float32{0.2, 0.8}},
	{"Clustering of version 1", model(1, []matrix{constant(3, 2, 9, 9, 1, 1, 5, 5)}, 1, 2,
		gNode{op: 31, inputs: []uint32{0}, outputs: []uint32{2}, params: []uint32{1}}),
		[]float32{1}},
	{"Decomposition of version 1", model(1, []matrix{constant(2, 2, 1, 1, 0, 2), {[]int{2}, []float32{1, -1}}}, 1, 3,
		gNode{op: 32, inputs: []uint32{0}, outputs: []uint32{3}, params: []uint32{1, 2}}),
		[]float32{3, 6}},
	{"Decomposition without mean", model(2, []matrix{constant(2, 2, 1, 1, 0, 2)}, 1, 2,
		gNode{op: 34, inputs: []uint32{0}, outputs: []uint32{2}, params: []uint32{1}}),
		[]float32{3, 4}},
	{"ids beyond the descriptors", sparseModel(), []float32{14}},
	{"a graph input with data", inputWithData(), []float32{6, 12}},
}

// sparseModel numbers activations that it does not describe, as the field does:
// ids 0, 1, 2, 5, 6 are the descriptors.
func sparseModel() *gFile {
	g := model(1, []matrix{constant(1, 2, 1, 2), {[]int{1}, []float32{1}}, constant(1, 1, 2), {[]int{1}, []float32{2}}}, 0, 7,
		gNode{op: 1, inputs: []uint32{0}, outputs: []uint32{3}, params: []uint32{1, 2}},
		gNode{op: 2, inputs: []uint32{3}, outputs: []uint32{4}},
		gNode{op: 1, inputs: []uint32{4}, outputs: []uint32{7}, params: []uint32{5, 6}})
	return g
}

// inputWithData has an example of its input in the weights.
func inputWithData() *gFile {
	g := model(2, []matrix{constant(2, 2, 1, 2, 3, 4), {[]int{2}, []float32{1, 1}}}, 1, 3,
		gNode{op: 1, inputs: []uint32{0}, outputs: []uint32{3}, params: []uint32{1, 2}})
	g.tensors[0].offset, g.tensors[0].size = uint64(len(g.weights)), 8
	g.weights = append(g.weights, floats(100, 100)...)
	return g
}

// TestEvaluate: models compute the same in the reference's engine after a copy
// through the neutral graph, and after conversion to either version. Trailing
// constants once became params of any operator, and version 1 codes were taken
// for version 2's.
func TestEvaluate(t *testing.T) {
	for _, tt := range evaluated {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, tt.file.build(), nil)
			out, err := evaluate(f, &matrix{[]int{1, 2}, []float32{1, 2}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tt.want, out[0].data, cmpopts.EquateApprox(0, 1e-5)); diff != "" {
				t.Error(diff)
			}
			checkCopies(t, f)
		})
	}
}

// checkCopies compares a file with its copies: what each node takes from where,
// and what comes out.
func checkCopies(t *testing.T, f *File) {
	t.Helper()
	input, err := exampleInput(f)
	if err != nil {
		t.Fatal(err)
	}
	want, wantErr := evaluate(f, input)
	for _, version := range []int{1, 2} {
		for _, withIR := range []bool{false, true} {
			b, err := rewritten(t, f, version, withIR)
			if err != nil {
				t.Errorf("version %d, IR %v: %v", version, withIR, err)
				continue
			}
			again := mustOpen(t, b, nil)
			got, err := evaluate(again, input)
			if diff := gocmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); diff != "" {
				t.Errorf("version %d, IR %v: %s", version, withIR, diff)
			}
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(matrix{}), cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("version %d, IR %v computes something else: %s", version, withIR, diff)
			}
			if diff := gocmp.Diff(nodeOperands(t, f), nodeOperands(t, again), equateEmpty); diff != "" {
				t.Errorf("version %d, IR %v: %s", version, withIR, diff)
			}
		}
	}
}

// operands is what a node takes and gives.
type operands struct {
	Op                      string
	Inputs, Params, Outputs []string
}

func nodeOperands(t *testing.T, f *File) []operands {
	t.Helper()
	ir, err := f.IR()
	if err != nil {
		t.Fatal(err)
	}
	var all []operands
	names := newNamer(ir)
	for _, n := range ir.Nodes {
		all = append(all, operands{n.Op.String(), names.names(n.Inputs), names.names(n.Params), names.names(n.Outputs)})
	}
	return all
}

// exampleInput makes up values for the graph's input.
func exampleInput(f *File) (*matrix, error) {
	g, err := f.Graph()
	if err != nil {
		return nil, err
	}
	in, size := &matrix{}, 1
	for _, d := range g.Inputs[0].Dims {
		in.shape = append(in.shape, int(d.Size))
		size *= int(d.Size)
	}
	for i := range size {
		in.data = append(in.data, float32(math.Sin(float64(i)+0.5)))
	}
	return in, nil
}

// notModels are files from the field whose graphs make no sense: a Linear
// without bias, or with a weight of another shape. They must stay what they are.
var notModels = []string{"cpp_brotli_9.mle", "cpp_int8.mle", "cpp_lz4_9.mle", "cpp_plain.mle", "v1_tools_logreg.mle"}

// TestInteropEvaluate: files from the field compute the same after a copy and
// after conversion, and their ids stay what exporters made them.
func TestInteropEvaluate(t *testing.T) {
	for _, path := range interopFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			input, err := exampleInput(f)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := evaluate(f, input); (err != nil) != slices.Contains(notModels, filepath.Base(path)) {
				t.Errorf("evaluate: %v", err)
			}
			checkCopies(t, f)
			b, err := rewritten(t, f, 2, false)
			if err != nil {
				t.Fatal(err)
			}
			was, errWas := f.IR()
			is, errIs := mustOpen(t, b, nil).IR()
			if diff := gocmp.Diff(was.Nodes, is.Nodes, equateEmpty); errWas != nil || errIs != nil || diff != "" {
				t.Error(errWas, errIs, diff)
			}
		})
	}
}
