package quant

import (
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// Pair is a tensor with scales in another one, which Join takes.
type Pair struct {
	Name          string // for both as one: that of the weight, without "_blocks"
	Weight, Scale int    // indexes
	Layout        string // "block scales 128x128", "one scale", "a scale for each row", "a scale for each 32 elements"
}

// companions are the names of weights and those of their scales, after what both share.
var companions = []struct{ weight, scale string }{
	{"weight", "weight_scale_inv"},
	{"weight", "weight_scale"},
	{"_blocks", "_scales"},
}

// Pairs finds tensors with scales by the names and shapes that models give them, in the order of
// the weights. Weights with zero points, or with more than one tensor of scales, are not among them.
func Pairs(tensors []tensor.Info) []Pair {
	at := make(map[string]int, len(tensors))
	for i := range tensors {
		at[tensors[i].Name] = i
	}
	var pairs []Pair
	for i := range tensors {
		if p, ok := pairOf(tensors, at, i); ok {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// pairOf finds the scales of tensor i.
func pairOf(tensors []tensor.Info, at map[string]int, i int) (Pair, bool) {
	name := tensors[i].Name
	for _, c := range companions {
		stem, ok := strings.CutSuffix(name, c.weight)
		if !ok {
			continue
		}
		k, ok := at[stem+c.scale]
		if !ok || (c.weight == "_blocks") != (tensors[i].DType == tensor.Uint8) {
			continue
		}
		p := Pair{name, i, k, ""}
		if c.weight == "_blocks" {
			p.Name = stem
		}
		taken := p.Name != name && has(at, p.Name)
		if taken || has(at, name+"_zero_point") || has(at, name+"_scale_2") || has(at, name+"_scale") && has(at, name+"_scale_inv") {
			return p, false
		}
		l, err := layoutOf(&tensors[i], &tensors[k])
		if err != nil {
			return p, false
		}
		p.Layout = l.text
		return p, true
	}
	return Pair{}, false
}

func has(at map[string]int, name string) bool {
	_, ok := at[name]
	return ok
}
