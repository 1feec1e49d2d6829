//go:build unix

package hostile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// cost is an operation on a model whose time and memory must be linear in the size of its files.
type cost struct {
	name string
	n    int                                          // size of the smaller of two models; the other is 8 times as large
	make func(t *testing.T, dir string, n int) string // makes a model and returns its path
	use  func(t *testing.T, path string) error
}

var costs = []cost{
	{"ONNX: a weight that many Gemm share", 500, saved("onnx", gemms), converted("mobi")},
	{"ONNX: nodes that share a value of many dims", 500, saved("onnx", deep), converted("mle")},
	{"WIA: a weight for each node", 1000, saved("wia", weights), converted("onnx")},
	{"ONNX: nodes of many domains", 4000, saved("onnx", domains), converted("onnx")},
	{"GGUF: an array of uint8", 50_000, saved("gguf", array), converted("gguf")},
	{"GGUF: an array of uint8 as JSON", 50_000, saved("gguf", array), converted("mle")},
	{"safetensors: metadata that are lost", 5_000, saved("safetensors", entries), converted("mag")},
	{"safetensors: names that are lost", 500, saved("safetensors", folding), converted("mobi")},
	{"safetensors: names of files that fold together", 500, saved("safetensors", folding), planned("tsr")},
}

// times is how much larger the larger of two models is.
const times = 8

// TestCosts: the cost of hostile models grows at most linearly. It prints a table.
func TestCosts(t *testing.T) {
	if testing.Short() || testhost.Race {
		t.Skip("it takes times")
	}
	t.Logf("%-48s %21s %25s %25s", "", "bytes", "processor time", "bytes allocated")
	for _, c := range costs {
		var size [2]int64
		var paths [2]string
		for i, n := range []int{c.n, c.n * times} {
			paths[i] = c.make(t, t.TempDir(), n)
			size[i] = sizeOf(t, paths[i])
		}
		var took [2]time.Duration
		var memory [2]uint64
		// Linear work takes 8 times as long, quadratic work 64 times. Other programs on the same processor can double
		// either, and only make it slower: the fastest run counts.
		grows := func() bool {
			return took[1] > 3*times*took[0] || memory[1] > 3*times/2*memory[0]+1<<20
		}
		for try := range 12 {
			if try > 0 && !grows() {
				break
			}
			for i, path := range paths {
				d, m := measure(t, func() error { return c.use(t, path) })
				if try == 0 || d < took[i] {
					took[i] = d
				}
				if try == 0 || m < memory[i] {
					memory[i] = m
				}
			}
		}
		t.Logf("%-48s %10d %10d %12v %12v %12d %12d", c.name, size[0], size[1], took[0], took[1], memory[0], memory[1])
		if grows() {
			t.Errorf("%s: it costs more than %d times as much where the file is %d times as large", c.name, 3*times, times)
		}
		if memory[1] > 512*uint64(size[1])+64<<20 {
			t.Errorf("%s: it is out of proportion", c.name)
		}
	}
}

// measure returns the processor time that f takes, which does not count waiting for a processor, and the bytes it
// allocates.
func measure(t *testing.T, f func() error) (time.Duration, uint64) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := processorTime(t)
	err := f()
	took := processorTime(t) - began
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Error(err)
	}
	return took, after.TotalAlloc - before.TotalAlloc
}

// processorTime returns the processor time that this process has taken so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	expect.OK(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// sizeOf returns the size of a file.
func sizeOf(t *testing.T, path string) int64 {
	st, err := os.Stat(path)
	expect.OK(t, err)
	return st.Size()
}

// saved returns a function that writes a schema of n.
func saved(to string, s func(n int) *schema.Schema) func(t *testing.T, dir string, n int) string {
	return func(t *testing.T, dir string, n int) string {
		path := filepath.Join(dir, "m")
		p := s(n)
		w, err := format.Create(path, p, &format.WriteOptions{NoSync: true, Format: expect.Must(format.ByName(to))})
		for i := 0; err == nil && i < len(p.Tensors); i++ {
			size, _ := p.Tensors[i].ByteSize()
			err = w.WriteTensor(p.Tensors[i].Name, bytes.NewReader(make([]byte, size)))
		}
		if err == nil {
			err = w.Close()
		}
		expect.OK(t, err)
		return path
	}
}

// converted returns a function that converts a model with all losses.
func converted(to string) func(t *testing.T, path string) error {
	return func(t *testing.T, path string) error {
		_, err := convert.File(t.Context(), path, filepath.Join(t.TempDir(), "out"), &convert.Options{Lossy: true, Write: &format.WriteOptions{Format: expect.Must(format.ByName(to)), NoSync: true}})
		return err
	}
}

// planned returns a function that starts to convert a model, and stops before any data is written.
func planned(to string) func(t *testing.T, path string) error {
	return func(t *testing.T, path string) error {
		m, err := format.Open(path, nil)
		if err != nil {
			return err
		}
		defer m.Close()
		p, err := m.Schema()
		if err != nil {
			return err
		}
		w, err := format.Create(filepath.Join(t.TempDir(), "out"), p, &format.WriteOptions{NoSync: true, AcceptLoss: schema.AcceptableLosses(), Format: expect.Must(format.ByName(to))})
		if err == nil {
			w.Abort()
		}
		return err
	}
}

// tiny returns a schema of n tensors of one element.
func tiny(n int, name func(i int) string) *schema.Schema {
	p := &schema.Schema{}
	for i := range n {
		p.Tensors = append(p.Tensors, tensor.Info{Name: name(i), DType: tensor.Float32, Shape: tensor.Shape{1}})
	}
	return p
}

// entries returns a schema with n metadata entries.
func entries(n int) *schema.Schema {
	p := tiny(1, strconv.Itoa)
	for i := range n {
		p.Metadata = append(p.Metadata, schema.Entry{Key: fmt.Sprint("k", i), Value: ""})
	}
	return p
}

// folding returns a schema of n tensors whose file names differ only in case, after replacing invalid
// characters.
func folding(n int) *schema.Schema {
	return tiny(n, func(i int) string {
		return strings.NewReplacer("0", "/", "1", `\`).Replace(fmt.Sprintf("name%024b", i))
	})
}

// gemms returns a schema with n nodes that use one weight.
func gemms(n int) *schema.Schema {
	p := tiny(1, func(int) string { return "weight" })
	p.Tensors[0].Shape = tensor.Shape{2, 2}
	square := func(name string) []schema.ValueInfo {
		return []schema.ValueInfo{{Name: name, DType: tensor.Float32, Dims: schema.FixedDims(2, 2)}}
	}
	p.Graph = &schema.Graph{Inputs: square("x0"), Outputs: square(fmt.Sprint("x", n))}
	for i := range n {
		p.Graph.Nodes = append(p.Graph.Nodes, schema.Node{
			Op: "Gemm", Inputs: []string{fmt.Sprint("x", i), "weight"}, Outputs: []string{fmt.Sprint("x", i+1)},
			Attributes: []schema.Attribute{{Name: "alpha", Value: float32(2)}},
		})
	}
	return p
}

// weights returns a schema with n nodes that have a weight each.
func weights(n int) *schema.Schema {
	p := gemms(n)
	p.Tensors = tiny(n, func(i int) string { return fmt.Sprint("weight", i) }).Tensors
	for i := range p.Graph.Nodes {
		p.Graph.Nodes[i].Inputs[1] = p.Tensors[i].Name
		p.Tensors[i].Shape = tensor.Shape{2, 2}
	}
	return p
}

// domains returns a schema with n nodes, each with an operator of another set.
func domains(n int) *schema.Schema {
	p := gemms(n)
	for i := range p.Graph.Nodes {
		p.Graph.Nodes[i].Op = "Own"
		p.Graph.Nodes[i].Domain = fmt.Sprint("domain", i)
	}
	return p
}

// deep returns a schema with n nodes that use a value of n dims.
func deep(n int) *schema.Schema {
	p := gemms(n)
	p.Graph.Inputs[0].Dims = schema.FixedDims(make([]int64, n)...)
	for i := range p.Graph.Nodes {
		node := &p.Graph.Nodes[i]
		node.Op, node.Inputs, node.Attributes = "Conv", []string{"x0", "weight"}, nil
	}
	return p
}

// array returns a schema with a metadata value of n bytes.
func array(n int) *schema.Schema {
	p := tiny(1, strconv.Itoa)
	p.Metadata = schema.Metadata{{Key: "array", Value: bytes.Repeat([]byte{200}, n)}}
	return p
}
