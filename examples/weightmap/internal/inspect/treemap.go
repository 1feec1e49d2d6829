package inspect

import (
	"cmp"
	"slices"
	"strings"
)

const (
	smallestTile = 140 // minimum area of a tile; smaller ones are combined
	deepest      = 6   // levels of groups
)

// rect is a rectangle in the drawing.
type rect struct{ X, Y, W, H float64 }

// branch is a group of tensors whose names have a common prefix.
type branch struct {
	name     string // full prefix
	label    string // part of the name that is not in the titles around it
	size     float64
	tensors  int
	dtype    string // "" for several
	layer    string // "" for several
	leaf     *tensorReport
	children []*branch
}

// tree groups tensors by the parts of their names.
func tree(all []tensorReport) *branch {
	root := &branch{}
	at := map[string]*branch{}
	for i := range all {
		t := &all[i]
		if t.Bytes > 0 {
			root.add(t, at)
		}
	}
	root.sort()
	for len(root.children) == 1 && root.children[0].leaf == nil {
		root = root.children[0]
	}
	return root
}

// add adds a tensor to its groups; at holds the groups by name.
func (b *branch) add(t *tensorReport, at map[string]*branch) {
	layer := LayerOf(t.Name)
	for end, depth := 0, 0; ; depth++ {
		b.count(float64(t.Bytes), 1, t.DType, layer)
		next := strings.IndexAny(t.Name[end:], "./")
		if next < 0 || depth == deepest {
			b.children = append(b.children, &branch{name: t.Name, size: float64(t.Bytes), tensors: 1,
				dtype: t.DType, layer: layer, leaf: t})
			return
		}
		end += next + 1
		prefix := t.Name[:end]
		child := at[prefix]
		if child == nil {
			child = &branch{name: prefix}
			at[prefix] = child
			b.children = append(b.children, child)
		}
		b = child
	}
}

// count adds tensors to a group.
func (b *branch) count(size float64, tensors int, dtype, layer string) {
	if b.tensors == 0 {
		b.dtype = dtype
		b.layer = layer
	}
	if b.dtype != dtype {
		b.dtype = ""
	}
	if b.layer != layer {
		b.layer = ""
	}
	b.size += size
	b.tensors += tensors
}

// sort sorts groups by descending size and removes groups with one element.
func (b *branch) sort() {
	for i, c := range b.children {
		for len(c.children) == 1 {
			c = c.children[0]
		}
		b.children[i] = c
		c.sort()
	}
	slices.SortStableFunc(b.children, bySize)
}

// tile is a branch with its rectangle. A frame contains other tiles.
type tile struct {
	rect
	*branch
	frame, titled bool
}

// treemap draws a tree into a place.
func treemap(root *branch, r rect) []tile {
	var tiles []tile
	root.draw(r, 0, root.name, &tiles)
	return tiles
}

// draw appends the tiles of a group; said is the part of its name in the titles around it.
func (b *branch) draw(r rect, depth int, said string, tiles *[]tile) {
	// Draw a large group in little space as one tile.
	if depth > 0 && (r.W*r.H < 2*smallestTile || min(r.W, r.H) < 4) {
		*tiles = append(*tiles, tile{rect: r, branch: b})
		return
	}
	inner := r
	if depth > 0 {
		titled := depth <= 2 && r.W > 70 && r.H > 50
		*tiles = append(*tiles, tile{rect: r, branch: b, frame: true, titled: titled})
		inner = inside(r, titled)
		if titled {
			said = b.name
		}
	}
	children := b.gather(smallestTile * max(b.size, 1) / (inner.W * inner.H))
	sizes := make([]float64, len(children))
	for i, c := range children {
		sizes[i] = c.size
	}
	for i, at := range squarify(sizes, inner) {
		c := children[i]
		c.label = strings.TrimRight(strings.TrimPrefix(c.name, said), "./")
		if len(c.children) > 0 {
			c.draw(at, depth+1, said, tiles)
		} else {
			*tiles = append(*tiles, tile{rect: at, branch: c})
		}
	}
}

// gather returns the children with at least the given size; smaller ones are combined by dtype.
func (b *branch) gather(least float64) []*branch {
	whole := 0
	for whole < len(b.children) && b.children[whole].size >= least {
		whole++
	}
	if len(b.children)-whole <= 1 {
		return b.children
	}
	const most = 3 // colors; more are mixed
	children := slices.Clone(b.children[:whole])
	rest := map[string]*branch{}
	for _, c := range b.children[whole:] {
		key := c.dtype
		if rest[key] == nil && len(rest) >= most {
			key = ""
		}
		if rest[key] == nil {
			rest[key] = &branch{name: b.name}
			children = append(children, rest[key])
		}
		rest[key].count(c.size, c.tensors, c.dtype, c.layer)
	}
	slices.SortStableFunc(children, bySize)
	return children
}

// bySize sorts by descending size.
func bySize(a, b *branch) int { return cmp.Compare(b.size, a.size) }

// caption is the height of a frame's title.
const caption = 15

// inside returns the rectangle inside a frame.
func inside(r rect, titled bool) rect {
	const edge = 1.5
	in := rect{r.X + edge, r.Y + edge, max(r.W-2*edge, 1), max(r.H-2*edge, 1)}
	if titled {
		in.Y += caption
		in.H -= caption
	}
	return in
}

// squarify divides a rectangle into rectangles of these sizes, which are in descending order, each
// as close to a square as possible (Bruls, Huizing and van Wijk).
func squarify(sizes []float64, r rect) []rect {
	total := 0.0
	for _, s := range sizes {
		total += s
	}
	out := make([]rect, 0, len(sizes))
	for len(sizes) > 0 {
		scale := r.W * r.H / max(total, 1e-300)
		short := min(r.W, r.H)
		// A row grows as long as its worst aspect ratio improves.
		n := 1
		sum := sizes[0]
		for n < len(sizes) {
			longer := worst(sizes[0], sizes[n], sum+sizes[n], scale, short)
			if longer > worst(sizes[0], sizes[n-1], sum, scale, short) {
				break
			}
			sum += sizes[n]
			n++
		}
		thick := sum * scale / max(short, 1e-300)
		along := 0.0
		for _, s := range sizes[:n] {
			length := s * scale / max(thick, 1e-300)
			if r.W >= r.H {
				out = append(out, rect{r.X, r.Y + along, thick, length})
			} else {
				out = append(out, rect{r.X + along, r.Y, length, thick})
			}
			along += length
		}
		if r.W >= r.H {
			r.X = r.X + thick
			r.W = max(r.W-thick, 0)
		} else {
			r.Y = r.Y + thick
			r.H = max(r.H-thick, 0)
		}
		total -= sum
		sizes = sizes[n:]
	}
	return out
}

// worst returns the worst aspect ratio in a row with the given largest and smallest size and their
// sum.
func worst(largest, smallest, sum, scale, short float64) float64 {
	side := sum * scale
	return max(short*short*largest*scale/(side*side), side*side/(short*short*smallest*scale))
}
