package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format/schema"
)

// Limits of the drawing of a graph.
const (
	mostNodes = 400
	mostEdges = 4 * mostNodes
	mostText  = 600 // columns of the tooltip of a node
	mostFacts = 40  // lines of details, and values of each kind

	boxWidth, boxHeight = 190, 44
	boxGap, layerGap    = 26, 40
)

// drawing is a graph in layers from top to bottom.
type drawing struct {
	Boxes         []*box
	Edges         []string // paths
	Width, Height float64
	Note          string // what is omitted
}

// box is a node of the graph, or an input or output.
type box struct {
	Kind         string // "node", "input" or "output"
	Title, Below string
	About        string // summary
	Facts        []fact // details, shown on click
	X, Y         float64
	from         []int // preceding boxes
	layer        int
	order        float64
}

// fact is a line of details.
type fact [2]string

// Details returns the facts of all boxes for the script.
func (d *drawing) Details() [][]fact {
	all := make([][]fact, len(d.Boxes))
	for i, b := range d.Boxes {
		all[i] = b.Facts
	}
	return all
}

// draw lays out a graph. Tensors of the model, for which tensorType returns a type, have no boxes;
// the nodes name them.
func draw(g *schema.Graph, tensorType func(string) string) *drawing {
	isTensor := func(name string) bool { return tensorType(name) != "" }
	d := &drawing{}
	makers := map[string]int{} // the box that produces each value
	for _, v := range g.Inputs[:min(len(g.Inputs), mostNodes)] {
		if !isTensor(v.Name) {
			makers[v.Name] = d.add(&box{Kind: "input", Title: v.Name, Below: valueType(v), About: "input " +
				Value(v), Facts: []fact{{"input", Value(v)}}})
		}
	}
	nodes := g.Nodes[:min(len(g.Nodes), mostNodes)]
	first := len(d.Boxes)
	for i := range nodes {
		at := d.add(&box{Kind: "node", Title: nodes[i].Op, Below: below(&nodes[i], isTensor),
			About: about(&nodes[i]), Facts: facts(&nodes[i], tensorType)})
		for _, name := range nodes[i].Outputs[:min(len(nodes[i].Outputs), mostNodes)] {
			makers[name] = at
		}
	}
	edges := 0
	connect := func(to int, name string) {
		if from, ok := makers[name]; ok && name != "" && edges < mostEdges &&
			!slices.Contains(d.Boxes[to].from, from) {
			edges++
			d.Boxes[to].from = append(d.Boxes[to].from, from)
		}
	}
	for i := range nodes {
		for _, name := range nodes[i].Inputs[:min(len(nodes[i].Inputs), mostNodes)] {
			connect(first+i, name)
		}
	}
	for _, v := range g.Outputs[:min(len(g.Outputs), mostNodes)] {
		if _, ok := makers[v.Name]; ok {
			output := &box{Kind: "output", Title: v.Name, Below: valueType(v),
				About: "output " + Value(v), Facts: []fact{{"output", Value(v)}}}
			connect(d.add(output), v.Name)
		}
	}
	if rest := len(g.Nodes) - len(nodes); rest > 0 {
		d.Note = fmt.Sprintf("The first %d of %s are drawn.", len(nodes), cli.Count(len(g.Nodes), "node"))
	} else if edges == mostEdges {
		d.Note = fmt.Sprintf("The first %d edges are drawn.", edges)
	}
	d.place()
	return d
}

func (d *drawing) add(b *box) int {
	b.Title = cli.Printable(b.Title)
	b.Below = cli.Printable(b.Below)
	b.About = cli.Cut(cli.Printable(b.About), mostText)
	b.Title = cli.Shorten(b.Title, 24)
	b.Below = cli.Shorten(b.Below, 30)
	for i, f := range b.Facts {
		b.Facts[i] = fact{cli.Shorten(cli.Printable(f[0]), 60), cli.Shorten(cli.Printable(f[1]), longest)}
	}
	d.Boxes = append(d.Boxes, b)
	return len(d.Boxes) - 1
}

// below returns a short text with the tensors of a node, or else its name.
func below(n *schema.Node, isTensor func(string) bool) string {
	for _, name := range n.Inputs[:min(len(n.Inputs), mostNodes)] {
		if isTensor(name) {
			return name
		}
	}
	return n.Name
}

// about describes a node, up to mostText columns.
func about(n *schema.Node) string {
	const most = 20
	line := fmt.Sprintf("%s(%s) -> %s", n.Op, cli.List(n.Inputs[:min(len(n.Inputs), most)], mostText),
		cli.List(n.Outputs[:min(len(n.Outputs), most)], mostText))
	for _, a := range n.Attributes[:min(len(n.Attributes), most)] {
		line += " " + a.Name + "=" + attribute(a.Value, 100)
	}
	return line
}

// facts returns the details of a node, a line per value and attribute.
func facts(n *schema.Node, tensorType func(string) string) []fact {
	op := n.Op
	if n.Domain != "" {
		op = n.Domain + "." + op
	}
	all := []fact{{"operator", op}}
	if n.Name != "" {
		all = append(all, fact{"name", n.Name})
	}
	list := func(label string, names []string) {
		for _, name := range names[:min(len(names), mostFacts)] {
			all = append(all, fact{label, strings.TrimSpace(name + " " + tensorType(name))})
		}
		more(&all, label, len(names))
	}
	list("input", n.Inputs)
	list("output", n.Outputs)
	for _, a := range n.Attributes[:min(len(n.Attributes), mostFacts)] {
		all = append(all, fact{a.Name, attribute(a.Value, longest)})
	}
	more(&all, "attributes", len(n.Attributes))
	return all
}

// more adds a line with the number of omitted items.
func more(all *[]fact, label string, n int) {
	if n > mostFacts {
		*all = append(*all, fact{label, fmt.Sprintf("… and %d more", n-mostFacts)})
	}
}

func valueType(v schema.ValueInfo) string {
	return strings.TrimPrefix(strings.TrimPrefix(Value(v), v.Name), " ")
}

// place assigns each box to the layer below all preceding boxes, and to a position near the middle
// of them.
func (d *drawing) place() {
	var layers [][]*box
	for _, i := range d.sorted() {
		b := d.Boxes[i]
		layer := 0
		for _, from := range b.from {
			layer = max(layer, d.Boxes[from].layer+1)
		}
		b.layer = layer
		if b.layer == len(layers) {
			layers = append(layers, nil)
		}
		layers[b.layer] = append(layers[b.layer], b)
	}
	for _, layer := range layers {
		d.Width = max(d.Width, float64(len(layer))*(boxWidth+boxGap)+boxGap)
	}
	d.Width += 2 * bow // room for edges around boxes
	for y, layer := range layers {
		for i, b := range layer {
			b.order = float64(i)
			if sum, n := 0.0, 0.0; len(b.from) > 0 {
				for _, from := range b.from {
					if before := d.Boxes[from]; before.layer < b.layer {
						sum = sum + before.X
						n = n + 1
					}
				}
				b.order = sum / max(n, 1)
			}
		}
		slices.SortStableFunc(layer, func(a, b *box) int { return cmp.Compare(a.order, b.order) })
		left := (d.Width - float64(len(layer))*(boxWidth+boxGap) + boxGap) / 2
		for i, b := range layer {
			b.X = left + float64(i)*(boxWidth+boxGap)
			b.Y = boxGap + float64(y)*(boxHeight+layerGap)
		}
	}
	d.Height = boxGap*2 + float64(len(layers))*(boxHeight+layerGap) - layerGap
	for _, b := range d.Boxes {
		for _, from := range b.from {
			d.Edges = append(d.Edges, edge(d.Boxes[from], b))
		}
	}
}

// sorted returns the boxes in topological order; boxes in a cycle are in file order. The layer of a
// box is -1 until it is listed.
func (d *drawing) sorted() []int {
	waits := make([]int, len(d.Boxes))
	next := make([][]int, len(d.Boxes))
	for i, b := range d.Boxes {
		b.layer = -1
		waits[i] = len(b.from)
		for _, from := range b.from {
			next[from] = append(next[from], i)
		}
	}
	var order []int
	listed := make([]bool, len(d.Boxes))
	list := func(i int) {
		listed[i] = true
		order = append(order, i)
	}
	done := 0
	for i := range d.Boxes {
		if waits[i] == 0 {
			list(i)
		}
	}
	for at := 0; len(order) < len(d.Boxes); {
		for ; done < len(order); done++ {
			for _, to := range next[order[done]] {
				if waits[to]--; waits[to] == 0 && !listed[to] {
					list(to)
				}
			}
		}
		if len(order) == len(d.Boxes) {
			break
		}
		for ; at < len(listed) && listed[at]; at++ {
		}
		list(at)
	}
	return order
}

// bow is the largest distance by which an edge avoids boxes.
const bow = 90

// edge returns the SVG path from one box to another.
func edge(from, to *box) string {
	x1 := from.X + boxWidth/2
	y1 := from.Y + boxHeight
	x2 := to.X + boxWidth/2
	y2 := to.Y
	bend := layerGap * 0.6
	if passed := to.layer - from.layer; passed > 1 || passed < 1 {
		side := min(boxWidth/2+50+8*float64(max(passed, -passed)), boxWidth/2+2*bow/1.5)
		return fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x1, y1, x1+side, y1+bend, x2+side,
			y2-bend, x2, y2)
	}
	return fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", x1, y1, x1, y1+bend, x2, y2-bend,
		x2, y2)
}
