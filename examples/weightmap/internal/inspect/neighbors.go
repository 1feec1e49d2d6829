package inspect

import (
	"cmp"
	"slices"
)

// Tiles this close to each other are neighbors: what is between them is an edge or a title.
const (
	nearX = 8
	nearY = 24
)

// mapSizes are the sizes of the treemap, for wide, medium and narrow windows: text that is scaled
// down cannot be read.
var mapSizes = []mapView{
	{Class: "desk", Width: 1160, Height: 520},
	{Class: "tablet", Width: 700, Height: 480},
	{Class: "phone", Width: 360, Height: 480},
}

// layerNeighbors returns the layers next to each layer in the treemaps and in the bar.
func layerNeighbors(root *branch, layers []string) map[string]map[string]bool {
	near := make(map[string]map[string]bool, len(layers))
	for _, l := range layers {
		near[l] = map[string]bool{}
	}
	add := func(a, b string) {
		if near[a] != nil && near[b] != nil && a != b {
			near[a][b] = true
			near[b][a] = true
		}
	}
	for i := 1; i < len(layers); i++ {
		add(layers[i-1], layers[i])
	}
	for _, v := range mapSizes {
		tiles := slices.DeleteFunc(treemap(root, rect{0, 0, v.Width, v.Height}),
			func(t tile) bool { return t.frame })
		slices.SortFunc(tiles, func(a, b tile) int { return cmp.Compare(a.X, b.X) })
		for i, a := range tiles {
			for _, b := range tiles[i+1:] {
				if b.X > a.X+a.W+nearX {
					break
				}
				if b.Y <= a.Y+a.H+nearY && a.Y <= b.Y+b.H+nearY {
					add(a.layer, b.layer)
				}
			}
		}
	}
	return near
}

// colorLayers returns a number below layerColors for each layer, which differs from those of its
// neighbors unless they have all numbers.
func colorLayers(root *branch, layers []string) map[string]int {
	near := layerNeighbors(root, layers)
	chosen := make(map[string]int, len(layers))
	for i, l := range layers {
		var taken [layerColors]bool
		for other := range near[l] {
			color, known := chosen[other]
			if known {
				taken[color] = true
			}
		}
		chosen[l] = i % layerColors
		for k := range layerColors {
			color := (i + k) % layerColors
			if !taken[color] {
				chosen[l] = color
				break
			}
		}
	}
	return chosen
}
