// Command quickstart shows weightmap at work: it builds a small MNIST network
// in memory, writes it in several formats, opens each file by mapping, checks
// it, and reads a tensor without copying.
//
//	go run ./examples/quickstart [-dir DIR]
//
// With -dir the files are kept there, to look at with examples/weightmap.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

func main() {
	dir := flag.String("dir", "", "keep the files in this directory")
	flag.Parse()
	if err := run(os.Stdout, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, dir string) error {
	if dir == "" {
		temp, err := os.MkdirTemp("", "weightmap-quickstart-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		dir = temp
	}
	net := build()
	fmt.Fprintf(out, "An MNIST network: %d tensors, %.2f MB of float32.\n\n", len(net), float64(totalBytes(net))/1e6)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "file\tsize\twritten in\topened in\tverified in\tconv1.weight as []float32, not copied\t")
	for _, t := range targets {
		row, err := roundTrip(filepath.Join(dir, t.file), t, net)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, row)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nOpening reads names and shapes only; weights are paged in when they are touched.")
	return nil
}

// target is a file to write. A name that ends in a slash is a directory with a
// file for each tensor.
type target struct {
	file   string
	first  string // what the first tensor is called there
	create func(path string, plan *format.Plan) (format.Writer, error)
}

var targets = []target{
	{"mnist.mag", "conv1.weight", plainly("mag")},
	{"mnist.mle", "conv1.weight", plainly("mle")},
	{"mnist.mobi", "0", func(path string, plan *format.Plan) (format.Writer, error) {
		// MOBI numbers its tensors and has no room for their names.
		return mobi.Create(path, plan, &mobi.WriteOptions{WriteOptions: format.WriteOptions{AcceptLoss: []string{"name"}}})
	}},
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
func roundTrip(path string, t target, net []layer) (row string, err error) {
	start := time.Now()
	if err := write(path, t, net); err != nil {
		return "", err
	}
	written := time.Since(start)

	start = time.Now()
	m, err := format.Open(path, nil)
	if err != nil {
		return "", err
	}
	defer m.Close()
	opened := time.Since(start)

	start = time.Now()
	if err := m.Verify(context.Background()); err != nil {
		return "", err
	}
	verified := time.Since(start)

	v, ok := m.Tensor(t.first)
	if !ok {
		return "", fmt.Errorf("%s: no tensor %q", path, t.first)
	}
	weights, err := tensor.As[float32](v) // a slice of the file itself
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s\t%s\t%v\t%v\t%v\t%.4f\t", t.file, size(path), round(written), round(opened), round(verified), weights[:4]), nil
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

// size returns the size of a file, or of the files in a directory.
func size(path string) string {
	total := int64(0)
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return fmt.Sprintf("%.2f MB", float64(total)/1e6)
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

func round(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(100 * time.Microsecond)
}
