package inspect

import (
	"fmt"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/wia"
)

// docReport is what a WIA file says about one of its parts in words.
type docReport struct {
	Path       string          `json:"path"`
	Name       string          `json:"name,omitempty"`
	Text       string          `json:"text,omitempty"`
	Properties schema.Metadata `json:"properties,omitempty"`
}

// describeDocs returns the documentation in a model, nil for formats without any.
func describeDocs(m *format.Model) ([]docReport, error) {
	f, ok := wia.From(m)
	if !ok {
		return nil, nil
	}
	docs, err := f.Docs()
	if err != nil {
		return nil, err
	}
	var all []docReport
	for _, d := range docs {
		r := docReport{Path: d.Path, Name: d.Name, Text: d.Text}
		for _, p := range d.Properties {
			r.Properties = append(r.Properties, schema.Entry{Key: p[0], Value: p[1]})
		}
		all = append(all, r)
	}
	return all, nil
}

// docs prints documentation, a line for each text and property.
func (p *Lines) docs(all []docReport) {
	if len(all) > 0 {
		fmt.Fprintln(p.Out)
	}
	for _, d := range all {
		of := d.Path
		if d.Name != "" && of != fmt.Sprintf("tensor %q", d.Name) {
			of += fmt.Sprintf(" (%s)", d.Name)
		}
		if d.Text != "" {
			p.Line("%s: %s", of, cli.Printable(d.Text))
		}
		for _, e := range d.Properties {
			p.Line("%s: %s = %s", of, e.Key, short(e.Value, 100))
		}
	}
}
