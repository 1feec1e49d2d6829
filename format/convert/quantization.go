package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// OutputAxis is a QuantizeOptions.Axis for Options.Quantize. It stands for the axis of a tensor's
// outputs, or 0 if the graph does not show it.
const OutputAxis = -1

// Stayed is a tensor that Options.Quantize did not quantize, and why.
type Stayed struct {
	Name, Why string // of the tensor, and the reason
}

// quantizes returns the options to quantize a tensor, or the reason to leave it, which is "" if
// quantization was not requested.
func (j *job) quantizes(t *tensor.Info) (*tensor.QuantizeOptions, string) {
	if j.o.Quantize == nil || t.Quant != nil {
		return nil, ""
	}
	if j.o.QuantizeOnly != nil {
		if !j.o.QuantizeOnly(*t) {
			return nil, ""
		}
	} else if why := j.plan.uses.keeps(t); why != "" {
		return nil, why
	}
	q := j.o.Quantize(*t)
	if q == nil {
		return nil, ""
	}
	o := *q
	if e := o.Encoding; e != nil {
		if _, err := e.Bytes(t.Shape); err != nil {
			return nil, fmt.Sprintf("%s needs rows of a multiple of %d elements, its shape is %v", e.Name,
				e.BlockElems, t.Shape)
		}
	}
	if o.PerChannel && o.Axis == OutputAxis {
		o.Axis = max(j.plan.uses[t.Name].axis, 0)
	}
	return &o, ""
}

// uses maps the names of tensors to their roles in a graph.
type uses map[string]role

// role is how nodes use a tensor.
type role struct {
	constant string // its role, if int8 would hurt: "bias"
	axis     int    // the axis of outputs
}

// usesOf collects the roles of tensors in a graph and its nested graphs.
func usesOf(g *schema.Graph, tensors map[string]*item) uses {
	u := uses{}
	g.Walk(func(g *schema.Graph) {
		for i := range g.Nodes {
			n := &g.Nodes[i]
			for k, name := range n.Inputs {
				it := tensors[name]
				if it == nil {
					continue
				}
				now := roleOf(n, k, it.to.Shape)
				if _, known := u[name]; !known || now.constant != "" {
					u[name] = now
				}
			}
		}
	})
	return u
}

// roleOf returns the role of input k of a node. It knows the operator names of all formats.
func roleOf(n *schema.Node, k int, shape tensor.Shape) (r role) {
	switch op := strings.ToLower(n.Op); {
	case strings.Contains(op, "norm"):
		r.constant = "constant of a normalization"
	case op == "lstm" || op == "gru" || op == "rnn":
		r.axis = 1
		if k == 3 {
			r.constant = "bias"
		}
	case k == 2 && (strings.Contains(op, "conv") || op == "gemm" || op == "linear" ||
		op == "fullyconnected"):
		r.constant = "bias"
	case strings.Contains(op, "convtranspose"), op == "gemm" && k == 1 &&
		integerOf(n, "transB", 0) == 0:
		r.axis = 1
	case op == "matmul" && k == 1:
		r.axis = len(shape) - 1
	case op == "matmul" && k == 0:
		r.axis = len(shape) - 2
	case isVector(shape) && (op == "add" || op == "sub" || op == "subtract" || op == "mul" ||
		op == "multiply" || op == "div" || op == "divide"):
		r.constant = "bias or factor"
	}
	return r
}

// integerOf returns an integer attribute of a node, or def.
func integerOf(n *schema.Node, name string, def int64) int64 {
	for _, a := range n.Attributes {
		if v, ok := a.Value.(int64); ok && a.Name == name {
			return v
		}
	}
	return def
}

// isVector reports whether at most one dim is not 1.
func isVector(shape tensor.Shape) bool {
	n, _ := shape.Elems()
	return len(shape) == 0 || n == slices.Max(shape)
}

// keeps returns the reason not to quantize a tensor by default, or "".
func (u uses) keeps(t *tensor.Info) string {
	if rank := len(t.Shape); rank < 2 {
		return fmt.Sprintf("rank %d", rank)
	}
	if r, known := u[t.Name]; known {
		return r.constant
	}
	words := strings.FieldsFunc(strings.ToLower(t.Name),
		func(r rune) bool { return strings.ContainsRune("./:_-", r) })
	for i, w := range words {
		w = strings.TrimRight(w, "0123456789")
		switch {
		case w == "bn", w == "ln", strings.HasSuffix(w, "norm"), w == "running" && i+1 < len(words) &&
			(words[i+1] == "mean" || words[i+1] == "var"):
			return "constant of a normalization, by its name"
		case w == "bias" && i == len(words)-1:
			return "bias, by its name"
		}
	}
	return ""
}
