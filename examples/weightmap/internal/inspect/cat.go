package inspect

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// Cat is the command cat.
var Cat = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap cat", Args: "[-slice R] [-as npy|raw|csv|text] [-o OUT] [more options] FILE [TENSOR]",
	About: "Write a tensor, a slice of it, or the names of all tensors to standard output.",
	Details: "A slice has a range for each axis: 0:2 takes two elements, : takes all, and 3 takes one and drops the\n" +
		"axis; -1 is the last element. Missing ranges take all.\n" +
		"  text  a row of numbers on each line, an empty line between matrices\n" +
		"  csv   the same with commas and without empty lines\n" +
		"  npy   a NumPy file\n" +
		"  raw   the stored little-endian bytes\n" +
		"Without -as, the name of OUT decides, as in -o w.npy; otherwise it is text.\n" +
		"Quantized tensors are written as the stored integers. Types that NumPy lacks and GGUF blocks are\n" +
		"decoded to float32, except with raw. FILE may be - for standard input.\n",
	Example: "weightmap cat -slice 0:2,:,3 -as csv model.mag fc.weight\n" +
		"  weightmap cat -o fc.weight.npy model.mag fc.weight",
}, Run: cat}

// cat writes a tensor.
func cat(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) error {
	f := c.Flags()
	slice := f.String("slice", "", "write only the ranges `R`, one for each axis, such as 0:2,:,3")
	as := f.String("as", "", "output `FORM`: text, csv, npy or raw")
	o := c.OutputFlag(f)
	given := modelfile.TrustFlags(c, f)
	given.PartFlag(f)
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if *as == "" {
		*as = formOf(*o)
	}
	forms := map[string]func(*content, io.Writer) error{"npy": (*content).npy, "raw": (*content).raw,
		"csv": (*content).csv, "text": (*content).text}
	write, known := forms[*as]
	if !known {
		return c.Usagef("-as takes text, csv, npy or raw, not %q", *as)
	}
	if f.NArg() != 2 && (f.NArg() != 1 || *slice != "") {
		return c.Usagef("cat takes one FILE and one TENSOR")
	}
	if *as == "raw" || *as == "npy" {
		if err := cli.CheckBinary(*o, out, "binary data"); err != nil {
			return err
		}
	}
	axes, err := parseSlice(*slice)
	if err != nil {
		return cli.BadArgument(err)
	}
	reading, err := given.Options(ctx)
	if err != nil {
		return err
	}
	opened, err := given.Open(f.Arg(0), reading)
	if err != nil {
		if f.NArg() == 2 && !modelfile.Exists(f.Arg(0)) && modelfile.Exists(f.Arg(1)) {
			err = cli.Advised(err, modelfile.TryLine("cat", modelfile.Split(f, args).Swapped()))
		}
		return err
	}
	defer opened.Close()
	opened.Complain(c, errs)
	m := modelfile.Named(opened.Model)
	if err := cli.CheckOutput(*o, f.Arg(0)); err != nil {
		return err
	}
	if f.NArg() == 1 {
		return c.Output(ctx, *o, out, func(out io.Writer) error { return writeNames(out, m) })
	}
	v, err := m.Find(f.Arg(1))
	if err != nil {
		if strings.ContainsAny(f.Arg(1), "*?") {
			err = cli.Advised(err, modelfile.TryWords([]string{"inspect", "-filter", f.Arg(1), f.Arg(0)}))
		}
		return err
	}
	part, err := choose(axes, v.Shape())
	if err != nil {
		return fmt.Errorf("%s: tensor %q: %w", modelfile.ShownName(f.Arg(0)), v.Name(), err)
	}
	d := modelfile.NewTensorReader(ctx, m.Model)
	v, err = d.Tensor(v)
	if err != nil {
		return modelfile.Hint(err, reading.Key)
	}
	return c.Output(ctx, *o, out, func(out io.Writer) error {
		b := bufio.NewWriterSize(out, 1<<16)
		if err := write(&content{v: v, d: d, sel: part, sliced: len(axes) > 0}, b); err != nil {
			return modelfile.Hint(err, reading.Key)
		}
		return b.Flush()
	})
}

// formOf returns the form that the name of the output stands for.
func formOf(output string) string {
	switch strings.ToLower(filepath.Ext(output)) {
	case ".npy":
		return "npy"
	case ".csv":
		return "csv"
	case ".raw", ".bin":
		return "raw"
	}
	return "text"
}

// writeNames writes the names of all tensors, one on each line.
func writeNames(out io.Writer, m *modelfile.NamedModel) error {
	b := bufio.NewWriter(out)
	for name := range m.Tensors() {
		_, err := fmt.Fprintln(b, cli.Printable(name))
		if err != nil {
			return err
		}
	}
	return b.Flush()
}

// content is a tensor, or a part of it, to print.
type content struct {
	v      tensor.View
	d      *modelfile.TensorReader
	sel    *selection
	sliced bool
	buf    []byte
	single []float32
}

// raw writes the stored bytes. Without a slice it supports unknown types, too.
func (c *content) raw(out io.Writer) error {
	if !c.sliced {
		return c.d.Copy(out, c.v)
	}
	for b, err := range c.stored() {
		if err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// stored yields the little-endian elements of the selection piece by piece.
func (c *content) stored() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for p := range modelfile.Pieces(c.sel.cut) {
			c.d.Used(modelfile.BytesOf(c.v, p))
			err := c.read(p)
			if !yield(c.buf, err) || err != nil {
				return
			}
		}
	}
}

// dtype returns the type of the output except in raw form.
func (c *content) dtype() tensor.DType {
	switch d := c.v.DType(); d {
	case tensor.Invalid, tensor.BFloat16, tensor.Float8E4M3FN, tensor.Float8E5M2:
		return tensor.Float32
	default:
		return d
	}
}

// elements yields the little-endian elements of the selection, converted to dtype.
func (c *content) elements() iter.Seq2[[]byte, error] {
	if c.dtype() == c.v.DType() {
		return c.stored()
	}
	return func(yield func([]byte, error) bool) {
		info := c.v.Info()
		switch {
		case !modelfile.Decodable(&info):
			yield(nil, fmt.Errorf("tensor %q: %w: elements of type %s cannot be decoded; -as raw writes the bytes", info.Name, format.ErrUnsupported, info.TypeName()))
			return
		case info.Encoding != nil && c.sliced:
			yield(nil, fmt.Errorf("tensor %q: %w: blocks of %s cannot be sliced", info.Name,
				format.ErrUnsupported, info.TypeName()))
			return
		}
		for p := range modelfile.Pieces(c.sel.cut) {
			err := c.decode(p)
			c.buf = c.buf[:0]
			for _, x := range c.single {
				c.buf = binary.LittleEndian.AppendUint32(c.buf, math.Float32bits(x))
			}
			if !yield(c.buf, err) || err != nil {
				return
			}
		}
	}
}

// read reads a piece into c.buf.
func (c *content) read(p modelfile.Piece) error {
	part, err := c.v.Slice(c.sel.of(p.Ranges)...)
	if err != nil {
		return err
	}
	c.buf = modelfile.Resize(c.buf, part.Info().Size)
	_, err = part.ReadIntoContext(c.d.Ctx, c.buf)
	return err
}

// decode decodes a piece into c.single.
func (c *content) decode(p modelfile.Piece) (err error) {
	if err := c.d.Ctx.Err(); err != nil {
		return err
	}
	c.d.Used(modelfile.BytesOf(c.v, p))
	if c.v.Info().Encoding != nil {
		c.single, err = modelfile.DecodeBlocks(c.single, c.v, p)
		return err
	}
	part, err := c.v.Slice(c.sel.of(p.Ranges)...)
	if err != nil {
		return err
	}
	c.single, err = tensor.Decode(c.single, part)
	return err
}

// npy writes a NumPy file.
func (c *content) npy(out io.Writer) error {
	const name = "array" // not written to the file
	w, err := format.NewWriter(out, &schema.Schema{Tensors: []tensor.Info{{Name: name,
		DType: c.dtype(), Shape: c.sel.shape}}},
		&format.WriteOptions{Format: npy.Format{}})
	if err != nil {
		return err
	}
	defer w.Abort()
	next, stop := iter.Pull2(c.elements())
	defer stop()
	if err := w.WriteTensor(name, &stream{next: next}); err != nil {
		return err
	}
	return w.Close()
}

// stream is an io.Reader for the output of an iterator.
type stream struct {
	next func() ([]byte, error, bool)
	rest []byte
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		b, err, more := s.next()
		switch {
		case !more:
			return 0, io.EOF
		case err != nil:
			return 0, err
		}
		s.rest = b
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (c *content) csv(out io.Writer) error { return c.numbers(out, ',', false) }

func (c *content) text(out io.Writer) error { return c.numbers(out, ' ', true) }

// numbers writes a line for each index of all axes but the last; a vector is a column.
func (c *content) numbers(out io.Writer, separator byte, gaps bool) error {
	row := int64(1)
	matrix := int64(math.MaxInt64)
	if s := c.sel.shape; len(s) >= 2 {
		row = s[len(s)-1]
		if gaps && len(s) > 2 {
			matrix = row * s[len(s)-2]
		}
	}
	d := c.dtype()
	size := int(d.Size())
	at := int64(0)
	var line []byte
	for b, err := range c.elements() {
		if err != nil {
			return err
		}
		for e := range slices.Chunk(b, size) {
			line = line[:0]
			switch {
			case at > 0 && at%matrix == 0:
				line = append(line, '\n', '\n')
			case at > 0 && at%row == 0:
				line = append(line, '\n')
			case at > 0:
				line = append(line, separator)
			}
			if _, err := out.Write(appendNumber(line, d, e)); err != nil {
				return err
			}
			at++
		}
	}
	if at == 0 {
		return nil
	}
	_, err := out.Write([]byte{'\n'})
	return err
}
