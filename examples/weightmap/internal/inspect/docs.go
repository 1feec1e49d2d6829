package inspect

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// docReport is what a file says about one of its parts in words.
type docReport struct {
	Path       string          `json:"path"`
	Name       string          `json:"name,omitempty"`
	Text       string          `json:"text,omitempty"`
	Properties schema.Metadata `json:"properties,omitempty"`
}

// describeDocs returns the documentation in a model, nil for formats without any.
func describeDocs(m *format.Model) ([]docReport, error) {
	p, err := m.Schema()
	if err != nil {
		return nil, err
	}
	var all []docReport
	for _, d := range p.Docs {
		r := docReport{Path: d.Path, Name: d.Name, Text: d.Text}
		for _, p := range d.Properties {
			r.Properties = append(r.Properties, schema.Entry{Key: p[0], Value: p[1]})
		}
		all = append(all, r)
	}
	return all, nil
}

// mostDocs is the number of lines of docs that inspect prints: exporters write some for every node.
const mostDocs = 40

// docs prints documentation, a line for each text and property.
func (p *Lines) docs(all []docReport) {
	if len(all) > 0 {
		fmt.Fprintln(p.Out)
	}
	var lines []string
	for _, d := range all {
		lines = append(lines, d.lines(100)...)
	}
	for _, line := range lines[:min(mostDocs, len(lines))] {
		p.Line("%s", line)
	}
	rest := len(lines) - mostDocs
	if rest > 0 {
		p.Line("… and %s more, which -json has", cli.Grouped(rest))
	}
}

// lines returns a line for each text and property. Values are cut to a width.
func (d *docReport) lines(width int) (lines []string) {
	of := d.Path
	if d.Name != "" && of != fmt.Sprintf("tensor %q", d.Name) {
		of += fmt.Sprintf(" (%s)", d.Name)
	}
	if d.Text != "" {
		lines = append(lines, fmt.Sprintf("%s: %s", of, cli.Printable(d.Text)))
	}
	for _, e := range d.Properties {
		lines = append(lines, fmt.Sprintf("%s: %s = %s", of, e.Key, short(e.Value, width)))
	}
	return lines
}

// DocLines returns a line for each text and property of the docs of a model.
func DocLines(m *format.Model) ([]string, error) {
	all, err := describeDocs(m)
	var lines []string
	for _, d := range all {
		lines = append(lines, d.lines(math.MaxInt)...)
	}
	return lines, err
}
