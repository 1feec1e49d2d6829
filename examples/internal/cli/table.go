package cli

import (
	"bufio"
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// Column is the head of a column. A head without a name is not printed.
type Column struct {
	Name  string
	Right bool // numbers are set to the right
	Spare bool // left out where the screen is too narrow, the last one first
}

// Table is text in columns, aligned also where characters are two columns
// wide, which text/tabwriter does not know.
type Table struct {
	Indent  string // what lines begin with
	columns []Column
	rows    [][]string
}

// The first column keeps so much in the narrowest terminal, and so much before a spare
// column takes room.
const narrowest, readable = 12, 16

// NewTable starts a table.
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

// Row adds a row with a cell for each column.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = Printable(cell)
	}
	t.rows = append(t.rows, row)
}

// Write prints the table. Where a row would take more than width columns, spare
// columns are left out, and cells of the first one shortened; a width of 0 is no limit.
func (t *Table) Write(out io.Writer, width int) error {
	widths := t.widths(width)
	b := bufio.NewWriter(out)
	for _, row := range t.rows {
		line := t.Indent
		for i, cell := range row {
			switch {
			case widths[i] < 0:
				continue
			case i == 0:
				cell = Shorten(cell, widths[0])
			default:
				line += "  "
			}
			gap := strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell))
			if t.columns[i].Right {
				line += gap + cell
			} else {
				line += cell + gap
			}
		}
		if _, err := b.WriteString(strings.TrimRight(line, " ") + "\n"); err != nil {
			return err
		}
	}
	return b.Flush()
}

// widths returns how many columns of the screen each column of the table takes, -1
// for one that is left out.
func (t *Table) widths(width int) []int {
	widths := make([]int, len(t.columns))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
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
