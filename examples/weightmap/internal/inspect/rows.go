package inspect

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/examples/cli"
)

// firstRows is the number of rows shown at first.
const firstRows = 200

// tensorRow is a line of the table.
type tensorRow struct {
	Name, DType, Class, Shape, Size, Offset, Stored, Quantization string
}

// tableData is the table for the script, in file order. Repeated texts are indices into Types,
// Classes, Stored and Quantized.
type tableData struct {
	Types     []string  `json:"types"`
	Classes   []string  `json:"classes"`
	Stored    []string  `json:"stored"`
	Quantized []string  `json:"quantized"`
	Rows      []dataRow `json:"rows"`
}

// dataRow has name, type, class, shape, size, offset, stored, quantization, elements, bytes, and
// the offset as a number.
type dataRow [11]any

// numbers assigns indices to texts.
type numbers struct {
	texts *[]string
	known map[string]int
}

func (n *numbers) of(text string) int {
	i, ok := n.known[text]
	if !ok {
		i = len(*n.texts)
		n.known[text] = i
		*n.texts = append(*n.texts, text)
	}
	return i
}

// rows fills the table.
func (p *page) rows(r *report, c *colors) {
	t := &p.Table
	types := numbers{&t.Types, map[string]int{}}
	classes := numbers{&t.Classes, map[string]int{}}
	storage := numbers{&t.Stored, map[string]int{}}
	quantized := numbers{&t.Quantized, map[string]int{}}
	for i := range min(len(r.Tensors), mostRows) {
		in := &r.Tensors[i]
		row := tensorRow{
			Name: cli.Shorten(cli.Printable(in.Name), longest), DType: cli.Cut(cli.Printable(in.DType), 40),
			Class: c.class(in.DType, LayerOf(in.Name)),
			Shape: dims(in.Shape), Size: cell(in.Bytes), Offset: offset(in.Offset), Stored: stored(*in),
			Quantization: in.Quantization.String(),
		}
		if i < firstRows {
			p.Rows = append(p.Rows, row)
		}
		elements := 1.0 // an integer may be too large for JavaScript
		for _, d := range in.Shape {
			elements *= float64(d)
		}
		t.Rows = append(t.Rows, dataRow{
			row.Name, types.of(row.DType), classes.of(row.Class), row.Shape, row.Size, row.Offset,
			storage.of(row.Stored), quantized.of(row.Quantization),
			elements, in.Bytes, in.Offset,
		})
	}
	if n := len(r.Tensors); n > mostRows {
		p.RowNote = fmt.Sprintf("The first %s of %s are listed; -filter chooses others.",
			cli.Grouped(mostRows), cli.Count(n, "tensor"))
	}
}

// Quantized reports whether the table has a column for quantization.
func (p *page) Quantized() bool {
	return slices.ContainsFunc(p.Table.Quantized, func(q string) bool { return q != "" })
}
