package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	_ "github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/internal/contract"
	_ "github.com/weightmap/weightmap/mle"
	_ "github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

// TestRandomGraphs: graphs that make no sense are translated or refused, never a panic, and what is translated
// has no loose ends.
func TestRandomGraphs(t *testing.T) {
	drivers, vocabularies := map[string]driver.Driver{}, map[string][]contract.Operator{}
	for _, name := range []string{"onnx", "mobi", "mle"} {
		c, err := format.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		drivers[name], vocabularies[name] = c.Driver(), c.Driver().(contract.Vocabulary).Operators()
	}
	translated := map[string]int{}
	seeds, enough := uint64(20000), 50
	if testing.Short() {
		seeds, enough = 4000, 5
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		names := slices.Sorted(maps.Keys(vocabularies))
		from := names[r.IntN(len(names))]
		to := names[r.IntN(len(names))]
		if from == to {
			continue
		}
		p, views := randomGraph(t, r, vocabularies[from])
		x := newTranslator(p, views, to)
		x.run(drivers[from], drivers[to])
		if len(x.gaps) > 0 {
			continue
		}
		x.finish()
		translated[from+" to "+to]++
		known := map[string]bool{"": true}
		for _, v := range p.Graph.Inputs {
			known[v.Name] = true
		}
		for _, info := range p.Tensors {
			if known[info.Name] {
				t.Fatalf("seed %d: tensor %q occurs twice", seed, info.Name)
			}
			known[info.Name] = true
		}
		for _, n := range p.Graph.Nodes {
			for _, s := range n.Inputs {
				if !known[s] {
					t.Fatalf("seed %d: %s takes %q, which nothing yields", seed, n.Op, s)
				}
			}
			for _, s := range n.Outputs {
				known[s] = true
			}
		}
	}
	for _, pair := range []string{"onnx to mobi", "onnx to mle", "mobi to onnx", "mobi to mle", "mle to onnx", "mle to mobi"} {
		if translated[pair] < enough {
			t.Errorf("%s: only %d were translated", pair, translated[pair])
		}
	}
}

// randomGraph makes a graph of a few nodes over a few tensors; no two values have the same name.
func randomGraph(t *testing.T, r *rand.Rand, ops []contract.Operator) (*format.Plan, []tensor.View) {
	numbers := []int64{0, 1, 1, 1, 2, 3, -1, 4, 8, -2, 64, math.MaxInt64, math.MinInt64, math.MaxInt32 + 1}
	number := func() int64 { return numbers[r.IntN(len(numbers))] }
	list := func() []int64 {
		out := make([]int64, []int{2, 2, 4, 4, 0, 1, 3}[r.IntN(7)])
		for i := range out {
			out[i] = number()
		}
		return out
	}
	p := &format.Plan{Graph: &format.Graph{Outputs: []format.ValueInfo{{Name: "y"}}}}
	if r.IntN(4) == 0 { // a Softmax without inputs panicked before version 13
		p.Metadata = format.Metadata{{Key: keyOperatorSets, Value: json.RawMessage(`[{"domain":"","version":11}]`)}}
	}
	var views []tensor.View
	var values []string
	shapes := []tensor.Shape{{4, 2, 3, 3}, {4, 1, 3, 3}, {4}, {2}, {}, {4, 2}, {0, 2}, {2, 4, 6, 6}, {3, 0, 1, 1}}
	for i := range 4 {
		s, d := shapes[r.IntN(len(shapes))], []tensor.DType{tensor.Float32, tensor.Float32, tensor.Int64}[r.IntN(3)]
		size, _ := s.ByteSize(d)
		data := make([]byte, size)
		for k := 0; d == tensor.Int64 && k < len(data); k += 8 {
			data[k] = byte(number())
		}
		v, err := tensor.FromBytes(fmt.Sprintf("t%d", i), d, s, data)
		if err != nil {
			t.Fatal(err)
		}
		views, values = append(views, v), append(values, v.Name())
		p.Tensors = append(p.Tensors, v.Info())
	}
	input := format.ValueInfo{Name: "x"}
	for range []int{4, 4, 4, 2, 1, 0}[r.IntN(6)] {
		input.Dims = append(input.Dims, format.Dim{Size: []int64{1, 2, 4, 8, -1}[r.IntN(5)]})
	}
	p.Graph.Inputs = append(p.Graph.Inputs, input)
	values = append(values, "x", "x", "x")
	onnx := slices.Sorted(maps.Keys(operators))
	for i := range 1 + r.IntN(3) {
		out := fmt.Sprintf("n%d", i)
		n := format.Node{Outputs: []string{out, out + "b"}[:[]int{1, 1, 1, 1, 1, 1, 1, 1, 0, 2}[r.IntN(10)]]}
		inputs, attrs := r.IntN(10)%4, map[string]any{}
		if ops == nil {
			n.Op = onnx[r.IntN(len(onnx))]
			for name := range operators[n.Op].attrs {
				attrs[name] = nil
			}
			if n.Op == "BatchNormalization" {
				inputs = 5
			}
		} else {
			o := ops[r.IntN(len(ops))]
			n.Op = o.Name
			for _, a := range o.Attributes {
				if a.Quantizes > 0 && r.IntN(100) > 0 {
					continue
				}
				for _, name := range a.Names {
					attrs[name] = a.Value
				}
			}
			inputs = max(inputs, o.Inputs)
		}
		for range inputs {
			n.Inputs = append(n.Inputs, values[r.IntN(len(values))])
		}
		for _, name := range slices.Sorted(maps.Keys(attrs)) {
			var v any = number()
			switch attrs[name].(type) {
			case nil:
				v = []any{number(), list(), list(), float32(1), "SAME_UPPER"}[r.IntN(5)]
			case bool:
				v = r.IntN(2) == 0
			case float32:
				v = float32(0.5)
			case []int32, []int64:
				v = list()
			}
			if r.IntN(4) == 0 {
				n.Attributes = append(n.Attributes, format.Attribute{Name: name, Value: v})
			}
		}
		p.Graph.Nodes = append(p.Graph.Nodes, n)
		values = append(values, out, out)
	}
	p.Graph.Outputs[0].Name = values[len(values)-1]
	return p, views
}
