package quant

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// Packed is a group of weights of a quantized checkpoint that are packed in the same way: their
// numbers are not those that their elements are.
type Packed struct {
	// Scheme is "GPTQ", "AWQ", "bitsandbytes nf4", "MXFP4", "FP8", ...
	Scheme string
	// Layout is what the shapes say: "4 bits, groups of 128". It is "" if only a configuration says
	// it.
	Layout string
	// Weights are the indexes of the weights in the list passed to FindPacked.
	Weights []int
	// Joins means that Join decodes them.
	Joins bool
}

// String returns "96 packed weights: GPTQ, 4 bits, groups of 128".
func (p Packed) String() string {
	text := fmt.Sprintf("%d packed weights: %s", len(p.Weights), p.Scheme)
	if len(p.Weights) == 1 {
		text = "1 packed weight: " + p.Scheme
	}
	if p.Layout != "" {
		text += ", " + p.Layout
	}
	return text
}

// GoString returns the same as String: there may be many weights.
func (p Packed) GoString() string { return p.String() }

// LogValue implements slog.LogValuer like String.
func (p Packed) LogValue() slog.Value { return slog.StringValue(p.String()) }

// scheme is a convention for packed weights. A tensor is of it if its name has the ending, its
// companions are there, and they fit. The prefix of the names is the same.
type scheme struct {
	name       string
	weight     string
	companions []string
	fit        func(t tensors) (layout string, ok bool)
}

// tensors are a weight and its companions, in the order of the scheme.
type tensors []*tensor.Info

// schemes are the conventions, those that ask for more companions first.
var schemes = [...]scheme{
	{"GPTQ", "qweight", []string{"qzeros", "scales"}, fitGPTQ},
	{"AWQ", "qweight", []string{"qzeros", "scales"}, fitAWQ},
	{"bitsandbytes nf4", "weight", []string{"weight.absmax", "weight.quant_map", "weight.quant_state.bitsandbytes__nf4"}, fitBlocks},
	{"bitsandbytes fp4", "weight", []string{"weight.absmax", "weight.quant_map", "weight.quant_state.bitsandbytes__fp4"}, fitBlocks},
	{"bitsandbytes int8", "weight", []string{"SCB"}, fitRows},
	{"compressed-tensors, nvfp4", "weight_packed", []string{"weight_scale", "weight_global_scale"}, fitHalves},
	{"compressed-tensors, marlin-24", "weight_packed", []string{"scale_packed", "meta"}, nil},
	{"compressed-tensors, pack-quantized", "weight_packed", []string{"weight_scale"}, fitWords},
	{"compressed-tensors, sparse", "compressed", []string{"bitmask"}, nil},
	{"ModelOpt NVFP4", "weight", []string{"weight_scale", "weight_scale_2"}, fitHalves},
	{"HQQ", "W_q", []string{"scale", "zero"}, nil},
	{"EXL2", "q_weight", []string{"q_scale", "q_groups"}, nil},
	{"MXFP4", "_blocks", []string{"_scales"}, fitMX},
	{"MXFP4", ".blocks", []string{".scales"}, fitMX},
	{"MLX", "weight", []string{"scales", "biases"}, fitMLX},
	{"MLX", "weight", []string{"scales"}, fitMLX},
	{"", "weight", []string{"weight_scale_inv"}, fitScaled},
	{"", "weight", []string{"weight_scale"}, fitScaled},
	{"", "weight", []string{"scale_weight"}, fitScaled},
}

// packing is what the weights of a group have in common.
type packing struct {
	scheme, layout string
	joins          bool
}

// FindPacked finds packed weights by the names and shapes of their tensors, in groups of the same
// scheme and layout, in the order of the first weight of each. It reads no data.
func FindPacked(list []tensor.Info) []Packed {
	at := make(map[string]int, len(list))
	for i := range list {
		at[list[i].Name] = i
	}
	var groups []Packed
	seen := make(map[packing]int)
	for i := range list {
		p, ok := packedAs(list, at, i)
		if !ok {
			continue
		}
		k, ok := seen[p]
		if !ok {
			k = len(groups)
			seen[p] = k
			groups = append(groups, Packed{Scheme: p.scheme, Layout: p.layout, Joins: p.joins})
		}
		groups[k].Weights = append(groups[k].Weights, i)
	}
	return groups
}

// packedAs returns how weight i is packed.
func packedAs(list []tensor.Info, at map[string]int, i int) (p packing, ok bool) {
	pair, joins := pairOf(list, at, i)
	for k := range schemes {
		s := &schemes[k]
		stem, isIt := strings.CutSuffix(list[i].Name, s.weight)
		if !isIt {
			continue
		}
		t := tensors{&list[i]}
		for _, companion := range s.companions {
			n, there := at[stem+companion]
			if there {
				t = append(t, &list[n])
			}
		}
		if len(t) <= len(s.companions) {
			continue
		}
		layout := ""
		fits := true
		if s.fit != nil {
			layout, fits = s.fit(t)
		}
		if !fits {
			continue
		}
		name := s.name
		if name == "" {
			name = scaledName(t[0])
		}
		if joins && layout == "" {
			layout = pair.Layout
		}
		if s.name == "" && layout == "" {
			layout = "scales of an unknown layout"
		}
		return packing{name, layout, joins}, true
	}
	return packing{}, false
}

// matrix returns the dims of a tensor of a dtype with two of them that are not 0.
func matrix(t *tensor.Info, d tensor.DType) (rows, cols int64, ok bool) {
	if t.DType != d || len(t.Shape) != 2 || t.Shape[0] <= 0 || t.Shape[1] <= 0 {
		return 0, 0, false
	}
	return t.Shape[0], t.Shape[1], true
}

const (
	wordBits = 32
	mostDim  = 1 << 40 // of packed words, so that their bits can be counted
)

// layoutOfGroups returns "4 bits, groups of 128" for rows of n numbers in groups.
func layoutOfGroups(bits, n, groups int64) (string, bool) {
	if bits < 1 || bits > 8 || groups < 1 || n < groups {
		return "", false
	}
	if groups == 1 {
		return fmt.Sprintf("%d bits, a scale for each row", bits), true
	}
	return fmt.Sprintf("%d bits, groups of %d", bits, (n+groups-1)/groups), true
}

// fitGPTQ: qweight [in*bits/32, out], qzeros [groups, out*bits/32], scales [groups, out].
func fitGPTQ(t tensors) (string, bool) {
	words, out, ok := matrix(t[0], tensor.Int32)
	_, zeros, okZeros := matrix(t[1], tensor.Int32)
	s := t[2].Shape
	if !ok || !okZeros || len(s) != 2 || s[1] != out || zeros > min(out, mostDim) || words > mostDim {
		return "", false
	}
	bits := zeros * wordBits / out
	if bits == 0 {
		return "", false
	}
	return layoutOfGroups(bits, words*wordBits/bits, s[0])
}

// fitAWQ: qweight [in, out*bits/32], qzeros [groups, out*bits/32], scales [groups, out].
func fitAWQ(t tensors) (string, bool) {
	in, words, ok := matrix(t[0], tensor.Int32)
	_, zeros, okZeros := matrix(t[1], tensor.Int32)
	s := t[2].Shape
	if !ok || !okZeros || len(s) != 2 || zeros != words || s[1] <= words || words > mostDim {
		return "", false
	}
	return layoutOfGroups(words*wordBits/s[1], in, s[0])
}

// fitBlocks: weight [n/2, 1], absmax for each block.
func fitBlocks(t tensors) (string, bool) {
	n, err := t[0].Shape.Elems()
	blocks, errBlocks := t[1].Shape.Elems()
	if t[0].DType != tensor.Uint8 || err != nil || errBlocks != nil || blocks < 1 || n < 1 || n > mostDim {
		return "", false
	}
	size := int64(1) // of a block, a power of two
	for size*blocks < 2*n {
		size *= 2
	}
	layout := fmt.Sprintf("4 bits, blocks of %d", size)
	if t[1].DType == tensor.Uint8 {
		layout += ", scales quantized too"
	}
	return layout, true
}

// fitRows: weight int8 [out, in], SCB [out].
func fitRows(t tensors) (string, bool) {
	rows, _, ok := matrix(t[0], tensor.Int8)
	n, err := t[1].Shape.Elems()
	return "8 bits, a scale for each row", ok && err == nil && n == rows
}

// fitHalves: two numbers of 4 bits in a byte, a scale for 16 numbers.
func fitHalves(t tensors) (string, bool) {
	_, half, ok := matrix(t[0], tensor.Uint8)
	s := t[1].Shape
	if !ok || len(s) != 2 || s[1] < 1 || half > mostDim || 2*half%s[1] != 0 {
		return "", false
	}
	return fmt.Sprintf("4 bits, groups of %d", 2*half/s[1]), true
}

// fitWords: the bits are in a configuration.
func fitWords(t tensors) (string, bool) {
	_, _, ok := matrix(t[0], tensor.Int32)
	return "", ok
}

// fitMX: blocks [..., G, 16], scales [..., G].
func fitMX(t tensors) (string, bool) {
	blocks := t[0].Shape
	scales := t[1].Shape
	k := len(blocks)
	isThis := t[0].DType == tensor.Uint8 && k >= 2 && blocks[k-1] == mxBytes && blocks[:k-1].Equal(scales)
	return "4 bits, groups of 32", isThis
}

// fitMLX: words of a bit stream. The bits are in a configuration.
func fitMLX(t tensors) (string, bool) {
	_, _, ok := matrix(t[0], tensor.Uint32)
	return "", ok && len(t[1].Shape) == 2 && t[0].Shape[0] == t[1].Shape[0]
}

// fitScaled: numbers that are narrow, with scales that fit.
func fitScaled(t tensors) (string, bool) {
	return "", isNarrow(t[0]) && t[0].Quant == nil
}

// scaledName names weights that are plain numbers beside their scales.
func scaledName(weight *tensor.Info) string {
	if weight.DType == tensor.Int8 {
		return "int8"
	}
	if weight.Encoding != nil {
		return weight.TypeName()
	}
	return "FP8"
}
