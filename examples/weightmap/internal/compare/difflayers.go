package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/inspect"
)

// layer has the differences of the tensors of a layer.
type layer struct {
	name    string
	tensors int
	values  measure
}

// byError orders differences: those without numbers first, then the largest errors.
func byError(a, b *measure) int {
	return cmp.Compare(b.errorRank(), a.errorRank())
}

// errorRank returns the NMSE, or infinity if there is none.
func (m *measure) errorRank() float64 {
	if m == nil {
		return math.Inf(1)
	}
	e := m.nmse()
	if math.IsNaN(e) {
		return math.MaxFloat64
	}
	return min(e, math.MaxFloat64)
}

// layersOf groups the tensors whose values were compared by layer. It returns nil unless there are
// several layers and one of them has several tensors.
func layersOf(rows []row) []layer {
	var list []layer
	index := map[string]int{}
	compared := 0
	for _, r := range rows {
		if r.values == nil {
			continue
		}
		compared++
		name := inspect.LayerOf(r.name)
		i, known := index[name]
		if !known {
			i = len(list)
			index[name] = i
			list = append(list, layer{name: name})
		}
		list[i].tensors++
		list[i].values.join(r.values)
	}
	if len(list) < 2 || len(list) == compared {
		return nil
	}
	slices.SortStableFunc(list, func(a, b layer) int { return byError(&a.values, &b.values) })
	return list
}

// layerTable returns the table of layers.
func layerTable(layers []layer) *cli.Table {
	saturated := slices.ContainsFunc(layers, func(l layer) bool { return l.values.quantized() })
	columns := []cli.Column{
		{Name: "LAYER"}, {Name: "TENSORS", Right: true}, {Name: "MAX", Right: true},
		{Name: "COSINE", Right: true}, {Name: "NMSE", Right: true},
	}
	if saturated {
		columns = append(columns, cli.Column{Name: "SATURATED", Right: true})
	}
	t := cli.NewTable(columns...)
	for _, l := range layers {
		m := &l.values
		cells := []string{l.name, cli.Grouped(l.tensors), fmt.Sprintf("%.4g", m.max),
			finiteText("%.6f", m.cosine()), finiteText("%.3g", m.nmse())}
		if saturated {
			cells = append(cells, m.saturated())
		}
		t.Row(cells...)
	}
	return t
}

// quantized reports whether one of the tensors has quantized integers.
func (m *measure) quantized() bool { return m != nil && (m.a.quantized || m.b.quantized) }

// saturated formats the share of the quantized integers at the limits of their type.
func (m *measure) saturated() string {
	switch {
	case m == nil:
		return ""
	case m.b.quantized:
		return m.b.percent()
	case m.a.quantized:
		return m.a.percent()
	}
	return "-"
}
