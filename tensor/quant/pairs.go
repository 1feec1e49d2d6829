package quant

import (
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// Pair is a tensor and the tensor of its scales: the arguments of Join.
type Pair struct {
	// Name is the name of the weight, without "_blocks" or ".blocks".
	Name string
	// Weight and Scale are indexes in the list passed to Pairs.
	Weight, Scale int
	// Layout is "block scales 128x128", "one scale", "a scale for each row", or "a scale for each
	// 32 elements".
	Layout string
}

// companions lists the suffixes of weights and of their scales.
var companions = []struct{ weight, scale string }{
	{"weight", "weight_scale_inv"},
	{"weight", "weight_scale"},
	{"weight", "scale_weight"},
	{"_blocks", "_scales"},
	{".blocks", ".scales"},
}

// Pairs finds weights with scales in another tensor by their names and shapes, and returns them in
// the order of the weights. It leaves out weights with zero points or several tensors of scales.
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
func pairOf(tensors []tensor.Info, at map[string]int, i int) (p Pair, ok bool) {
	name := tensors[i].Name
	has := func(name string) bool {
		_, ok := at[name]
		return ok
	}
	for _, c := range companions {
		stem, isWeight := strings.CutSuffix(name, c.weight)
		isMX := strings.HasSuffix(c.weight, "blocks")
		if !isWeight || !has(stem+c.scale) || isMX != (tensors[i].DType == tensor.Uint8) {
			continue
		}
		p = Pair{name, i, at[stem+c.scale], ""}
		if isMX {
			p.Name = stem
		}
		l, err := layoutOf(&tensors[i], &tensors[p.Scale])
		if err == nil {
			p.Layout = l.text
		}
		taken := isMX && has(stem)
		other := has(name+"_zero_point") || has(name+"_scale_2") || has(name+"_scale") && has(name+"_scale_inv")
		return p, err == nil && !taken && !other
	}
	return p, false
}
