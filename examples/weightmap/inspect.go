package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
)

// inspect shows one file, as a table for people or as JSON for scripts.
func inspect(c *cli.Tool, args []string, out, errs io.Writer) error {
	f := c.Flags()
	asJSON := f.Bool("json", false, "print one JSON object, stable for scripts")
	sums := f.Bool("sha256", false, "with -json: add the SHA-256 of each tensor's decoded bytes")
	key := keyFlag(f)
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return c.Usagef("inspect takes one FILE")
	}
	if *sums && !*asJSON {
		return c.Usagef("-sha256 goes with -json")
	}
	secret, err := cli.ParseKey(*key)
	if err != nil {
		return err
	}
	path := f.Arg(0)
	m, err := format.Open(path, &format.Options{Key: secret})
	if err != nil {
		return hint(err, secret)
	}
	defer m.Close()
	r, err := describe(path, m, *sums)
	if err != nil {
		return err
	}
	// All of it is made before any is printed, so that one error reports both.
	var text bytes.Buffer
	if *asJSON {
		err = r.json(&text)
	} else {
		err = r.table(&text, cli.Width(out))
	}
	if err == nil {
		_, err = text.WriteTo(out)
	}
	return err
}

// json prints the report for scripts.
func (r *report) json(out io.Writer) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		return err
	}
	_, err := out.Write(cli.PrintableJSON(b.Bytes()))
	return err
}

// describe collects the report of an open model.
func describe(path string, m *format.Model, sums bool) (*report, error) {
	r := &report{
		Path: path, Format: m.Format(), Version: m.Version(), FileSize: cli.FileSize(path),
		Metadata: m.Metadata(), Tensors: []tensorReport{}, Notes: append([]string{}, m.Notes()...),
		Signature: describeSignature(m.Signature()),
	}
	// The rest of an encrypted file is worth showing without its key. A wrong
	// key is still an error.
	locked := m.Locked()
	h := hashes{}
	for _, v := range m.Tensors() {
		t := describeTensor(v)
		if sums {
			var err error
			if t.SHA256, err = h.sum(v); err != nil && !(locked && errors.Is(err, format.ErrKey)) {
				return nil, err
			}
		}
		r.Tensors = append(r.Tensors, t)
	}
	var err error
	r.Graph, err = m.Graph()
	return r, err
}
