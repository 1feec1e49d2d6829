package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/digits"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/tensor"
)

// file is a file to write. A name that ends in a slash is a directory with a file per tensor. The
// first is the original model.
type file struct {
	name string
	o    convert.Options
}

var files = []file{
	{name: "digits.wia"},
	{name: "digits.mag"},
	{name: "digits.mle"},
	{name: "digits.mobi"},
	{name: "digits.tsr/"},
	{name: "digits-int8.mobi", o: convert.Options{Quantize: convert.Quantized(tensor.QuantizeOptions{DType: tensor.Int8})}},
}

// table writes the files and prints a line for each.
func table(out io.Writer, dir string, image *digits.Image, width int) error {
	t := cli.NewTable(cli.Column{Name: "FILE"}, cli.Column{Name: "SAYS"}, cli.Column{Name: "SIZE", Right: true},
		cli.Column{Name: "COPIED", Right: true, Spare: true}, cli.Column{Name: "OPENED IN", Right: true, Spare: true},
		cli.Column{Name: "VERIFIED IN", Right: true, Spare: true}, cli.Column{Name: "WRITTEN IN", Right: true, Spare: true})
	for _, f := range files {
		row, err := f.roundTrip(dir, image)
		if err != nil {
			return err
		}
		t.Row(row...)
	}
	return t.Write(out, width)
}

// roundTrip writes the network to a file, opens it and returns a row that describes both.
func (f *file) roundTrip(dir string, image *digits.Image) (row []string, err error) {
	path := filepath.Join(dir, f.name)
	written := "-"
	if f.name != files[0].name {
		o := f.o
		o.Lossy = true                      // drop graph and metadata if the format cannot store them
		if strings.HasSuffix(f.name, "/") { // a directory with files is an error
			if err := os.RemoveAll(path); err != nil {
				return nil, err
			}
		}
		start := time.Now()
		if _, err := convert.File(context.Background(), filepath.Join(dir, files[0].name), path, &o); err != nil {
			return nil, err
		}
		written = round(time.Since(start))
	}

	start := time.Now()
	m, err := format.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	opened := round(time.Since(start))

	start = time.Now()
	if _, err := m.Verify(context.Background(), nil); err != nil {
		return nil, err
	}
	verified := round(time.Since(start))

	w, err := digits.Load(m)
	if err != nil {
		return nil, err
	}
	copied := "nothing"
	if w.Copied > 0 {
		copied = cli.Size(w.Copied)
	}
	said := w.Predict(image)
	says := fmt.Sprintf("%d (%.1f %%)", said.Best(), 100*said[said.Best()])
	return []string{f.name, says, cli.Size(cli.FileSize(path)), copied, opened, verified, written}, nil
}

// round formats a duration with at most three digits.
func round(d time.Duration) string {
	unit := time.Microsecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}
