package inspect

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/tensor"
)

// table prints the report as text, in lines of at most width columns if possible.
func (r *report) table(out io.Writer, width int) error {
	p := &Lines{Out: out, Width: width}
	fmt.Fprintf(out, "%s: %s %s%s, %s, %s\n", cli.Printable(r.Path+r.chosen()), r.Format,
		cli.Printable(r.Version), r.Part,
		cli.Count(r.all, "tensor"), cli.Size(r.FileSize))
	if r.Digest != "" {
		fmt.Fprintln(out, DigestLine(r.Digest)) // not shortened, since users compare it
	}
	for _, e := range r.Metadata {
		p.Line("  %s = %s", e.Key, short(e.Value, 100))
	}
	if r.Signature != nil {
		fmt.Fprintln(out, cli.Printable(r.Signature.line())) // not shortened, since users compare fingerprints
	}
	if r.all > 0 {
		fmt.Fprintln(out)
		if err := tensorTable(r.Tensors, r.Files).Write(out, width); err != nil {
			return err
		}
		fmt.Fprintln(out)
		p.Line("%s", r.totals())
	}
	if r.Graph != nil {
		p.graph(r.Graph)
	}
	if len(r.Native) > 0 {
		fmt.Fprintln(out)
	}
	for _, k := range r.Native {
		p.Line("only %s", k.line(r.Format))
	}
	p.docs(r.Docs)
	if len(r.Notes) > 0 {
		fmt.Fprintln(out)
	}
	for _, n := range r.Notes {
		p.Line("note: %s", n)
	}
	return nil
}

// Lines prints lines that fit the width and are safe for a terminal.
type Lines struct {
	Out   io.Writer
	Width int
}

func (p *Lines) Line(text string, args ...any) {
	fmt.Fprintln(p.Out, cli.Cut(cli.Printable(fmt.Sprintf(text, args...)), p.Width))
}

// line describes a signature.
func (s *signatureReport) line() string {
	who := "a key the file does not name"
	when := ""
	if s.Fingerprint != nil {
		who = "SHA256:" + *s.Fingerprint
	}
	if s.Time != nil {
		when = " at " + *s.Time
	}
	return fmt.Sprintf("signed%s with %s by %s, %s", when, s.Algorithm, who,
		cmp.Or(s.Error, "not checked"))
}

// tensorTable returns a table with columns for quantization and statistics if there are any. If the
// columns do not all fit, the least important are omitted.
func tensorTable(all []tensorReport, files []fileReport) *cli.Table {
	has := func(f func(*tensorReport) bool) bool {
		return slices.ContainsFunc(all, func(t tensorReport) bool { return f(&t) })
	}
	quantized := has(func(t *tensorReport) bool { return t.Quantization != nil })
	stats := has(func(t *tensorReport) bool { return t.Stats != nil })
	odd := stats && has(func(t *tensorReport) bool {
		return t.Stats != nil && t.Stats.NaN+t.Stats.Infinite > 0
	})
	numbered := has(func(t *tensorReport) bool { return t.ID != "" })
	columns := []cli.Column{{Name: "NAME"}, {Name: "DTYPE"}, {Name: "SHAPE", Spare: stats},
		{Name: "SIZE", Right: true, Spare: stats}}
	if stats {
		for _, name := range []string{"MIN", "MAX", "MEAN", "ZEROS"} {
			columns = append(columns, cli.Column{Name: name, Right: true})
		}
	}
	numbers := 4
	if odd {
		columns = append(columns, cli.Column{Name: "NAN", Right: true},
			cli.Column{Name: "INF", Right: true})
		numbers = 6
	}
	several := has(func(t *tensorReport) bool { return t.File != nil })
	if several {
		columns = append(columns, cli.Column{Name: "FILE", Spare: true})
	}
	columns = append(columns, cli.Column{Name: "OFFSET", Right: true, Spare: true},
		cli.Column{Name: "STORED", Spare: true})
	if quantized {
		columns = append(columns, cli.Column{Name: "QUANTIZATION", Spare: true})
	}
	if numbered {
		columns = append(columns, cli.Column{Name: "ID", Spare: true})
	}
	w := cli.NewTable(columns...)
	w.Grow(len(all))
	var row []string // Row copies it
	for _, t := range all {
		row = append(row[:0], t.Name, t.DType, dims(t.Shape), cell(t.Bytes))
		if stats {
			row = append(row, t.Stats.cells()[:numbers]...)
		}
		if several {
			row = append(row, filepath.Base(files[*t.File].Path))
		}
		row = append(row, offset(t.Offset), stored(t))
		if quantized {
			row = append(row, t.Quantization.String())
		}
		if numbered {
			row = append(row, t.ID)
		}
		w.Row(row...)
	}
	return w
}

// String describes the quantization briefly, nil as "".
func (q *quantizationReport) String() string {
	switch {
	case q == nil:
		return ""
	case q.Axis == tensor.PerTensor:
		return q.Scheme + ", " + cli.Count(q.Scales, "scale")
	}
	return fmt.Sprintf("%s, %s on axis %d", q.Scheme, cli.Count(q.Scales, "scale"), q.Axis)
}

// cell formats a size for a column, without the word "bytes".
func cell(n int64) string {
	if n < 1000 {
		return string(append(strconv.AppendInt(nil, n, 10), " B"...))
	}
	return cli.Size(n)
}

// stored describes briefly how the file stores a tensor.
func stored(t tensorReport) string {
	how := t.Compression
	switch {
	case how != "" && t.StoredBytes >= 0:
		how += ", " + cell(t.StoredBytes)
	case how == "" && t.ZeroCopy:
		how = "zero-copy"
	case how == "" && t.encrypted:
		return "encrypted"
	case how == "":
		how = "by copy"
	}
	if t.encrypted {
		how += ", encrypted"
	}
	return how
}

func offset(n int64) string {
	if n < 0 {
		return "-"
	}
	return string(strconv.AppendInt([]byte("0x"), n, 16))
}

func dims(shape []int64) string {
	return strings.ReplaceAll(tensor.Shape(shape).String(), " ", "")
}

// short formats a value in at most width columns.
func short(v any, width int) string {
	s, err := cli.JSON(v)
	if err != nil {
		s = fmt.Sprint(v) // a number that JSON cannot represent
	}
	return cli.Cut(s, width)
}
