package inspect

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
)

// The number of colors on the page, and of layers in its legend.
const (
	typeColors  = 8
	layerColors = 12
	mostLayers  = 60
)

// LayerOf returns the layer in a tensor's name: everything up to the first number, or else up to
// the last part.
func LayerOf(name string) string {
	end := -1
	for from := 0; from <= len(name); {
		n := strings.IndexAny(name[from:], "./")
		if n < 0 {
			break
		}
		end = from + n
		if part := name[from:end]; part != "" && strings.Trim(part, "0123456789") == "" {
			break
		}
		from = end + 1
	}
	if end < 0 {
		return name
	}
	return name[:end]
}

// colors maps dtypes and layers to CSS classes.
type colors struct{ types, layers map[string]string }

// class returns both classes, "mixed" for several dtypes or layers.
func (c *colors) class(dtype, layer string) string {
	of := func(classes map[string]string, name, mixed string) string {
		if class, ok := classes[name]; ok && name != "" {
			return class
		}
		return mixed
	}
	return of(c.types, dtype, "mixed") + " " + of(c.layers, layer, "lmixed")
}

// shareView is a segment of a bar.
type shareView struct {
	Name, Class, Size, Percent string
	Tensors                    string
	X, Width                   float64 // in percent
}

// color fills the bars and assigns colors: to dtypes by descending share, to layers so that
// neighbors differ.
func (p *page) color(r *report) *colors {
	c := &colors{map[string]string{}, map[string]string{}}
	types, shares := r.shares(func(t *tensorReport) string { return t.DType })
	slices.SortStableFunc(types, func(a, b string) int { return shares[b].size.Cmp(shares[a].size) })
	for i, d := range types {
		c.types[d] = fmt.Sprintf("c%d", min(i, typeColors-1))
	}
	layers, layerShares := r.shares(func(t *tensorReport) string { return LayerOf(t.Name) })
	for l, color := range colorLayers(tree(r.Tensors), layers) {
		c.layers[l] = fmt.Sprintf("l%d", color)
	}
	p.Types = bar(types[:min(len(types), mostEntries)], shares, c.types, r.sums().size)
	p.Layers = bar(layers[:min(len(layers), mostLayers)], layerShares, c.layers, r.sums().size)
	if len(layers) > mostLayers {
		p.LayerNote = fmt.Sprintf("The first %d of %s are listed.", mostLayers,
			cli.Count(len(layers), "layer"))
	}
	p.ByLayer = len(types) == 1 && len(layers) > 1
	return c
}

// bar returns the segments of a bar.
func bar(names []string, shares map[string]*share, class map[string]string,
	whole *big.Int) []shareView {
	var all []shareView
	total, _ := new(big.Float).SetInt(whole).Float64()
	at := 0.0
	for _, name := range names {
		s := shares[name]
		size, _ := new(big.Float).SetInt(s.size).Float64()
		width := size / max(total, 1) * 100
		all = append(all, shareView{
			Name: cli.Shorten(cli.Printable(name), 40), Class: class[name], Size: bigSize(s.size),
			Percent: fmt.Sprintf("%.1f %%", width),
			Tensors: cli.Count(s.tensors, "tensor"), X: at, Width: width,
		})
		at += width
	}
	return all
}
