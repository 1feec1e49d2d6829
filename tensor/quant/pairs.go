package quant

import (
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// Pair is a tensor and the tensor of its scales: the arguments of Join.
type Pair struct {
	Name          string // name of the weight, without "_blocks"
	Weight, Scale int    // indexes in the list passed to Pairs
	Layout        string // "block scales 128x128", "one scale", "a scale for each row", "a scale for each 32 elements"
}

// companions lists the suffixes of weights and of their scales.
var companions = []struct{ weight, scale string }{
	{"weight", "weight_scale_inv"},
	{"weight", "weight_scale"},
	{"_blocks", "_scales"},
}

// Pairs finds weights with scales in another tensor by their names and shapes, and returns them in the
// order of the weights. It leaves out weights with zero points or several tensors of scales.
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

// pairOf returns the pair with weight i, if its scales exist.
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
