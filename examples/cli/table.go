package cli

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// Column is the heading of a column. A heading without a name is not printed.
type Column struct {
	Name  string
	Right bool // align to the right, for numbers
	Spare bool // omitted if the terminal is too narrow, the last one first
}

// Table aligns text in columns. Unlike text/tabwriter it handles characters that are two columns
// wide.
type Table struct {
	Indent  string // printed at the start of each line
	columns []Column
	cells   []cell // row by row
}

// cell is a text with its width on the screen.
type cell struct {
	text  string
	width int
}

// narrowest is the minimum width of the first column; readable is its minimum width while spare
// columns are shown.
const narrowest, readable = 12, 16

// NewTable returns a table without rows.
func NewTable(columns ...Column) *Table {
	t := &Table{columns: columns}
	var head []string
	for _, c := range columns {
		head = append(head, c.Name)
	}
	if strings.Join(head, "") != "" {
		t.Row(head...)
	}
	return t
}

// Grow reserves memory for more rows.
func (t *Table) Grow(rows int) { t.cells = slices.Grow(t.cells, rows*len(t.columns)) }

// Row adds a row. There must be a cell for each column.
func (t *Table) Row(cells ...string) {
	for _, text := range cells {
		width := len(text)
		if !isPlain(text) {
			text = Printable(text)
			width = uniseg.StringWidth(text)
		}
		t.cells = append(t.cells, cell{text, width})
	}
}

// Write prints the table. If a row would be wider than width, it omits spare columns and shortens
// cells of the first column; a width of 0 means no limit.
func (t *Table) Write(out io.Writer, width int) error {
	widths := t.widths(width)
	b := bufio.NewWriter(out)
	var line []byte
	for row := range slices.Chunk(t.cells, len(t.columns)) {
		line = append(line[:0], t.Indent...)
		for i, width := range widths {
			if width < 0 {
				continue
			}
			if i > 0 {
				line = append(line, "  "...)
			}
			text := row[i].text
			gap := width - row[i].width
			if gap < 0 { // of the first column
				text = Shorten(text, width)
				gap = width - uniseg.StringWidth(text)
			}
			if t.columns[i].Right {
				line = append(spaces(line, gap), text...)
			} else {
				line = spaces(append(line, text...), gap)
			}
		}
		line = append(bytes.TrimRight(line, " "), '\n')
		if _, err := b.Write(line); err != nil {
			return err
		}
	}
	return b.Flush()
}

func spaces(b []byte, n int) []byte {
	for range n {
		b = append(b, ' ')
	}
	return b
}

// widths returns the width of each column, or -1 for an omitted one.
func (t *Table) widths(width int) []int {
	widths := make([]int, len(t.columns))
	for k, cell := range t.cells {
		i := k % len(widths)
		widths[i] = max(widths[i], cell.width)
	}
	if width <= 0 {
		return widths
	}
	others := len(t.Indent)
	for _, w := range widths[1:] {
		others += 2 + w
	}
	for i := len(widths) - 1; i > 0 && others+min(widths[0], readable) > width; i-- {
		if t.columns[i].Spare {
			others -= 2 + widths[i]
			widths[i] = -1
		}
	}
	widths[0] = min(widths[0], max(width-others, narrowest))
	return widths
}
