// Package compare has the command diff.
package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/inspect"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Diff is the command diff.
var Diff = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap diff", Args: "[-json] [-tolerance T] [-digest] [-key HEX] A B",
	About: "Compare two models of any formats: tensors, layers, metadata and graph.",
	Details: "Tensors are equal if their names, shapes, dtypes, quantization and values are; NaN equals NaN, and\n" +
		"-0 equals 0. Other tensors are listed by their errors, the largest first, and then by layer:\n" +
		"  VALUES     how many values differ\n" +
		"  MAX, MEAN  largest and mean absolute difference\n" +
		"  COSINE     cosine similarity of the finite values\n" +
		"  NMSE       sum of the squared differences, relative to that of the squares of A\n" +
		"  SATURATED  share of the quantized integers of B, or else of A, at the limits of their type\n" +
		"Quantized elements are compared as the real numbers they represent, including those of\n" +
		"DequantizeLinear nodes and of scales in other tensors. How a file stores a tensor does not matter.\n" +
		"Exit status: 0 equal, 1 different or an invalid file.\n",
	Example: "weightmap diff -tolerance 1e-6 model.safetensors quantized.wia",
}, Run: diff}

// diff prints what differs.
func diff(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) error {
	f := c.Flags()
	tolerance := f.Float64("tolerance", 0, "treat values as equal if they differ by at most `T`")
	digests := f.Bool("digest", false, "show digests of all tensors, which do not depend on the format")
	asJSON := f.Bool("json", false, "print a JSON object, stable for scripts")
	given := modelfile.AccessFlags(c, f)
	given.PartFlag(f)
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if f.NArg() != 2 {
		return c.Usagef("diff takes two files, A and B")
	}
	if !(*tolerance >= 0) {
		return c.Usagef("-tolerance takes a number of at least 0")
	}
	o, err := given.Options(ctx)
	if err != nil {
		return err
	}
	d := &difference{tolerance: *tolerance, a: comparedModel{name: "A", path: f.Arg(0)},
		b: comparedModel{name: "B", path: f.Arg(1)}}
	defer d.a.close()
	defer d.b.close()
	for _, s := range []*comparedModel{&d.a, &d.b} {
		if err := s.open(ctx, c, given, o, errs); err != nil {
			return err
		}
		s.head = modelfile.Headline(s.path, s.m.Model)
	}
	progress := cli.NewProgress(errs, "comparing")
	d.a.data.Watch(progress, d.a.m.Stats().FileSize)
	err = d.compare()
	progress.Finish()
	if err != nil {
		return modelfile.Hint(err, o.Key)
	}
	if *digests {
		err := d.digests(ctx, errs)
		if err != nil {
			return modelfile.Hint(err, o.Key)
		}
	}
	var text bytes.Buffer
	if *asJSON {
		err = d.json(&text)
	} else {
		err = d.write(&text, cli.Width(out))
	}
	if err != nil {
		return err
	}
	if _, err := text.WriteTo(out); err != nil {
		return err
	}
	if !d.equal() {
		return cli.ErrReported
	}
	return nil
}

// difference holds the differences of two models.
type difference struct {
	tolerance float64
	a, b      comparedModel
	rows      []row   // the largest errors first
	layers    []layer // of the compared tensors, the largest errors first; nil unless there are several tensors in one
	bits      int     // tensors with equal values in other bits
	metadata  change
	graph     change
	docs      change
	native    change // parts that only one of the formats has
}

// row is a tensor that differs.
type row struct {
	name, what string
	a, b       string // type and shape, "" if the tensor is missing
	values     *measure
}

func (d *difference) equal() bool {
	return len(d.rows) == 0 && d.metadata.empty() && d.graph.empty() &&
		d.docs.empty() && d.native.empty()
}

// compare compares the two open sides.
func (d *difference) compare() error {
	whole := *d.a.m // as it is before fold
	if err := d.a.m.Fold(d.b.m); err != nil {
		return err
	}
	if err := d.b.m.Fold(&whole); err != nil {
		return err
	}
	old, err := userMetadata(d.a.m)
	if err != nil {
		return err
	}
	fresh, err := userMetadata(d.b.m)
	if err != nil {
		return err
	}
	d.metadata = compareSets(metadataLines(withoutOwn(old, fresh)),
		metadataLines(withoutOwn(fresh, old)))
	before, err := graphLines(d.a.m)
	if err != nil {
		return err
	}
	after, err := graphLines(d.b.m)
	if err != nil {
		return err
	}
	d.graph = compareLists(before, after)
	d.docs, err = d.changeOf(inspect.DocLines)
	if err != nil {
		return err
	}
	d.native, err = d.changeOf(inspect.NativeLines)
	if err != nil {
		return err
	}
	if err := d.tensors(); err != nil {
		return err
	}
	for name, v := range d.b.m.Tensors() {
		if _, err := d.a.m.Tensor(name); errors.Is(err, format.ErrNotFound) {
			d.rows = append(d.rows, row{name: name, what: "only in B", b: inspect.TensorType(v)})
		}
	}
	slices.SortStableFunc(d.rows, func(a, b row) int { return byError(a.values, b.values) })
	d.layers = layersOf(d.rows)
	return nil
}

// changeOf compares lines that describe both models.
func (d *difference) changeOf(lines func(*format.Model) ([]string, error)) (change, error) {
	before, err := lines(d.a.m.Model)
	if err != nil {
		return change{}, err
	}
	after, err := lines(d.b.m.Model)
	if err != nil {
		return change{}, err
	}
	return compareSets(before, after), nil
}

// tensors compares the tensors of A with those of B: first the bytes of all, then the values of
// those that differ. Either is in the order of the files, so that data which is compressed as a
// whole is decompressed twice.
func (d *difference) tensors() error {
	var unequal []*match
	for name, v := range d.a.m.Tensors() {
		p, err := d.match(name, v)
		if err != nil {
			return err
		}
		if !p.equal {
			unequal = append(unequal, p)
		}
	}
	for _, p := range unequal {
		if err := d.values(p); err != nil {
			return err
		}
	}
	return nil
}

// match is a tensor of A and that of B with the same name.
type match struct {
	row
	va, vb       tensor.View
	descriptions []string // what differs beside the data
	onlyA, equal bool
}

// match compares the descriptions of a tensor of A and of that of B, and their bytes if those are
// alike.
func (d *difference) match(name string, a tensor.View) (*match, error) {
	p := &match{row: row{name: name, a: inspect.TensorType(a)}, va: a}
	b, err := d.b.m.Tensor(name)
	if errors.Is(err, format.ErrNotFound) {
		p.what = "only in A"
		p.onlyA = true
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	p.b = inspect.TensorType(b)
	p.vb = b
	ia := a.Info()
	ib := b.Info()
	p.descriptions = descriptions(&ia, &ib)
	if len(p.descriptions) > 0 || ia.Size != ib.Size {
		return p, nil
	}
	p.equal, err = d.sameBytes(a, b, ia.Size)
	return p, err
}

// values compares the values of two tensors and adds a row unless they are equal.
func (d *difference) values(p *match) error {
	if p.onlyA {
		d.rows = append(d.rows, p.row)
		return nil
	}
	ia := p.va.Info()
	ib := p.vb.Info()
	if canCompare(&ia, &ib) {
		values, err := compareValues(&d.a, &d.b, p.va, p.vb, d.tolerance)
		switch {
		case err == nil:
			p.row.values = values
		case !errors.Is(err, tensor.ErrQuantization): // of these the bits differ
			return err
		}
	}
	what := p.descriptions
	if p.row.values != nil && p.row.values.differ > 0 || p.row.values == nil && len(what) == 0 {
		what = append(what, "data")
	}
	if len(what) == 0 {
		d.bits++
		return nil
	}
	p.what = strings.Join(what, ", ")
	d.rows = append(d.rows, p.row)
	return nil
}

// descriptions lists the differences in the descriptions of two tensors.
func descriptions(a, b *tensor.Info) []string {
	var what []string
	if !a.Shape.Equal(b.Shape) {
		what = append(what, "shape")
	}
	if a.TypeName() != b.TypeName() {
		what = append(what, "dtype")
	}
	if !a.Quant.Equal(b.Quant) {
		what = append(what, "quantization")
	}
	return what
}

// sameBytes compares the stored bytes of two tensors of equal size.
func (d *difference) sameBytes(a, b tensor.View, size int64) (bool, error) {
	const step = 1 << 20
	d.a.data.Buf = modelfile.Resize(d.a.data.Buf, step)
	d.b.data.Buf = modelfile.Resize(d.b.data.Buf, step)
	x := d.a.data.Buf
	y := d.b.data.Buf
	from, err := d.a.data.Sequence(a)
	if err != nil {
		return false, err
	}
	defer from.Close()
	other, err := d.b.data.Sequence(b)
	if err != nil {
		return false, err
	}
	defer other.Close()
	for at := int64(0); at < size; at += step {
		if err := d.a.data.Ctx.Err(); err != nil {
			return false, err
		}
		n := min(step, size-at)
		if _, err := io.ReadFull(from, x[:n]); err != nil {
			return false, err
		}
		if _, err := io.ReadFull(other, y[:n]); err != nil {
			return false, err
		}
		d.a.data.Used(n)
		d.b.data.Used(n)
		if !bytes.Equal(x[:n], y[:n]) {
			return false, nil
		}
	}
	return true, nil
}

// write prints the differences as text.
func (d *difference) write(out io.Writer, width int) error {
	p := &inspect.Lines{Out: out, Width: width}
	for _, s := range []*comparedModel{&d.a, &d.b} {
		p.Line("%s  %s", s.name, s.head)
		if s.digest != "" {
			fmt.Fprintln(out, "   "+inspect.DigestLine(s.digest))
		}
	}
	if len(d.rows) > 0 {
		fmt.Fprintln(out)
		if err := d.table().Write(out, width); err != nil {
			return err
		}
	}
	if len(d.layers) > 0 {
		fmt.Fprintln(out)
		if err := layerTable(d.layers).Write(out, width); err != nil {
			return err
		}
	}
	d.metadata.write(p, "metadata")
	d.graph.write(p, "graph")
	d.docs.write(p, "docs")
	d.native.write(p, "format-specific content")
	fmt.Fprintln(out)
	p.Line("%s", d.summary())
	return nil
}

// table returns the table. It has columns for values only if some were compared.
func (d *difference) table() *cli.Table {
	compared := false
	saturated := false
	same := true
	for _, r := range d.rows {
		compared = compared || r.values != nil
		saturated = saturated || r.values.quantized()
		same = same && r.a == r.b
	}
	columns := []cli.Column{{Name: "NAME"}, {Name: "DIFFERS"}, {Name: "A", Spare: same || compared},
		{Name: "B", Spare: same || compared}}
	if compared {
		columns = append(columns, cli.Column{Name: "VALUES", Right: true, Spare: true},
			cli.Column{Name: "MAX", Right: true, Spare: true},
			cli.Column{Name: "MEAN", Right: true, Spare: true}, cli.Column{Name: "COSINE", Right: true},
			cli.Column{Name: "NMSE", Right: true})
	}
	if saturated {
		columns = append(columns, cli.Column{Name: "SATURATED", Right: true})
	}
	t := cli.NewTable(columns...)
	for _, r := range d.rows {
		cells := []string{r.name, r.what, r.a, r.b}
		if compared {
			cells = append(cells, r.values.cells()...)
		}
		if saturated {
			cells = append(cells, r.values.saturated())
		}
		t.Row(cells...)
	}
	return t
}

// cells returns the cells for the table, empty for nil.
func (m *measure) cells() []string {
	if m == nil {
		return []string{"", "", "", "", ""}
	}
	differ := cli.Grouped(m.differ) + " of " + cli.Grouped(m.count)
	if m.nan > 0 {
		differ += ", " + cli.Grouped(m.nan) + " NaN"
	}
	return []string{differ, fmt.Sprintf("%.4g", m.max), fmt.Sprintf("%.4g", m.mean()),
		finiteText("%.6f", m.cosine()), finiteText("%.3g", m.nmse())}
}

// finiteText formats x, or "-" if it is not finite.
func finiteText(layout string, x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "-"
	}
	return fmt.Sprintf(layout, x)
}

// summary says in one line whether the models are equal.
func (d *difference) summary() string {
	var parts []string
	if n := len(d.rows); n > 0 {
		verb := "differ"
		if n == 1 {
			verb += "s"
		}
		parts = append(parts, cli.Count(n, "tensor")+" "+verb)
	}
	if !d.metadata.empty() {
		parts = append(parts, "the metadata differs")
	}
	if !d.graph.empty() {
		parts = append(parts, "the graph differs")
	}
	if !d.docs.empty() {
		parts = append(parts, "the docs differ")
	}
	if !d.native.empty() {
		parts = append(parts, "the format-specific content differs")
	}
	if len(parts) == 0 {
		parts = append(parts, "equal: "+cli.Count(d.a.m.Len(), "tensor")+", metadata and graph")
	}
	if d.a.digest != "" && d.a.digest == d.b.digest {
		parts = append(parts, "the digests are equal")
	}
	if d.bits > 0 {
		how := "in value, not in bits"
		if d.tolerance > 0 {
			how = "within the tolerance"
		}
		parts = append(parts, cli.Count(d.bits, "tensor")+" equal "+how)
	}
	return strings.Join(parts, "; ")
}

// digests computes the digests of both sides.
func (d *difference) digests(ctx context.Context, errs io.Writer) error {
	for _, s := range []*comparedModel{&d.a, &d.b} {
		text, err := inspect.DigestOf(ctx, s.m.Model, errs)
		if err != nil {
			return err
		}
		s.digest = text
	}
	return nil
}
