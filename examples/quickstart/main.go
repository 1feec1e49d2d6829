// Command quickstart shows weightmap at work: it builds a small MNIST network
// in memory, writes it in several formats, opens each file by mapping, checks
// it, and reads a tensor without copying.
//
//	go run ./examples/quickstart [-dir DIR]
//
// With -dir the files are kept there, to look at with examples/weightmap; the
// directory is made when it does not exist.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

var tool = cli.Tool{
	Name: "quickstart", Args: "[-dir DIR]",
	About:   "Write a small network in every format, open each file by mapping, verify it, and read a tensor.",
	Example: "quickstart -dir models",
}

func run(args []string, out, errs io.Writer) int {
	f := tool.Flags()
	dir := f.String("dir", "", "keep the files in `DIR`, which is made when it does not exist")
	err := tool.Parse(f, args, out)
	switch {
	case err != nil:
	case f.NArg() > 0:
		err = tool.Usagef("no arguments are known but -dir")
	default:
		err = show(out, *dir)
	}
	return tool.Status(err, errs)
}

// show prints a line for each format. Without a directory the files go to a
// temporary one.
func show(out io.Writer, dir string) (err error) {
	where := dir
	if dir == "" {
		if where, err = os.MkdirTemp("", "weightmap-quickstart-"); err == nil {
			defer os.RemoveAll(where)
		}
	} else {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return err
	}
	net := build()
	fmt.Fprintf(out, "An MNIST network: %s, %s of float32.\n\n", cli.Count(len(net), "tensor"), cli.Size(int64(totalBytes(net))))
	table := cli.NewTable(cli.Column{Name: "FILE"}, right("SIZE"), right("WRITTEN IN"), right("OPENED IN"), right("VERIFIED IN"),
		cli.Column{Name: "CONV1.WEIGHT AS []FLOAT32, NOT COPIED"})
	for _, t := range targets {
		row, err := roundTrip(filepath.Join(where, t.file), t, net)
		if err != nil {
			return err
		}
		table.Row(row...)
	}
	if err := table.Write(out, 0); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nOpening reads names and shapes only; weights are paged in when they are touched.")
	if dir != "" {
		fmt.Fprintf(out, "To look at them: go run ./examples/weightmap inspect %s\n", cli.Printable(filepath.Join(dir, targets[0].file)))
	}
	return nil
}

func right(name string) cli.Column { return cli.Column{Name: name, Right: true} }

// target is a file to write. A name that ends in a slash is a directory with a
// file for each tensor.
type target struct {
	file   string
	first  string // what the first tensor is called there
	create func(path string, plan *format.Plan) (format.Writer, error)
}

var targets = []target{
	{"mnist.mag", "conv1.weight", plainly("mag")},
	{"mnist.gguf", "conv1.weight", plainly("gguf")},
	{"mnist.mle", "conv1.weight", plainly("mle")},
	{"mnist.mobi", "0", func(path string, plan *format.Plan) (format.Writer, error) {
		// MOBI numbers its tensors and has no room for their names.
		return mobi.Create(path, plan, &mobi.WriteOptions{WriteOptions: format.WriteOptions{AcceptLoss: []string{"name"}}})
	}},
	{"mnist.safetensors", "conv1.weight", plainly("safetensors")},
	{"mnist.tsr/", "conv1.weight", plainly("tsr")},
	{"mnist.wia", "conv1.weight", plainly("wia")},
}

// plainly creates files of a format with its defaults.
func plainly(kind string) func(string, *format.Plan) (format.Writer, error) {
	return func(path string, plan *format.Plan) (format.Writer, error) {
		return format.Create(kind, path, plan, nil)
	}
}

// roundTrip writes the network to path, opens it again and describes both.
func roundTrip(path string, t target, net []layer) (row []string, err error) {
	start := time.Now()
	if err := write(path, t, net); err != nil {
		return nil, err
	}
	written := time.Since(start)

	start = time.Now()
	m, err := format.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	opened := time.Since(start)

	start = time.Now()
	if _, err := m.Verify(context.Background()); err != nil {
		return nil, err
	}
	verified := time.Since(start)

	v, err := m.Tensor(t.first)
	if err != nil {
		return nil, err
	}
	weights, err := tensor.As[float32](v) // a slice of the file itself
	if errors.Is(err, tensor.ErrByteOrder) {
		weights, err = tensor.Decode[float32](nil, v) // a copy, on a big-endian host
	}
	if err != nil {
		return nil, err
	}
	return []string{
		t.file, cli.Size(cli.FileSize(path)), round(written), round(opened), round(verified), fmt.Sprintf("%.4f", weights[:4]),
	}, nil
}

// write streams the network into one file, which appears when it is complete.
func write(path string, t target, net []layer) error {
	plan := &format.Plan{}
	for _, l := range net {
		plan.Tensors = append(plan.Tensors, tensor.Info{Name: l.name, DType: tensor.Float32, Shape: l.shape})
	}
	w, err := t.create(path, plan)
	if err != nil {
		return err
	}
	defer w.Abort() // does nothing after Close
	for _, l := range net {
		if err := w.WriteTensor(l.name, bytes.NewReader(l.data)); err != nil {
			return err
		}
	}
	return w.Close()
}

// layer is one tensor of the network: little-endian float32.
type layer struct {
	name  string
	shape tensor.Shape
	data  []byte
}

// build makes the network with weights as training begins: normal, scaled to
// the number of inputs, the same every time.
func build() []layer {
	rng := rand.New(rand.NewPCG(1, 2))
	var net []layer
	add := func(name string, fanIn int64, shape ...int64) {
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		data := make([]byte, 0, 4*n)
		for range n {
			x := float32(rng.NormFloat64() * math.Sqrt(2/float64(fanIn)))
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		net = append(net, layer{name, shape, data})
	}
	for i, c := range [][2]int64{{1, 32}, {32, 64}, {64, 64}} {
		in, out, conv, norm := c[0], c[1], fmt.Sprintf("conv%d.", i+1), fmt.Sprintf("bn%d.", i+1)
		add(conv+"weight", 9*in, out, in, 3, 3)
		add(conv+"bias", 9*in, out)
		for _, p := range []string{"weight", "bias", "running_mean", "running_var"} {
			add(norm+p, out, out)
		}
	}
	add("fc1.weight", 3136, 128, 3136)
	add("fc1.bias", 3136, 128)
	add("fc2.weight", 128, 10, 128)
	add("fc2.bias", 128, 10)
	return net
}

func totalBytes(net []layer) (n int) {
	for _, l := range net {
		n += len(l.data)
	}
	return n
}

// round shows a duration with three digits or fewer.
func round(d time.Duration) string {
	unit := time.Microsecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}
