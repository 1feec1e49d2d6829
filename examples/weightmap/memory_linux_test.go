package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// init makes the test program the tool, in the process that TestPeakMemory measures.
func init() {
	path := os.Getenv("WEIGHTMAP_STATUS")
	if path == "" {
		return
	}
	status := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	// What the system tells the parent counts the parent's own memory, too.
	text, err := os.ReadFile("/proc/self/status")
	if err == nil {
		err = os.WriteFile(path, text, 0o666)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(status)
}

// measured runs the tool in a process of its own and returns the most memory it had, in bytes,
// and the processor time it took. Differences are no failure.
func measured(t *testing.T, args ...string) (peak int64, took time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	path := filepath.Join(t.TempDir(), "status")
	cmd.Env = append(os.Environ(), "WEIGHTMAP_STATUS="+path, "GOMAXPROCS=4")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil && (args[0] != "diff" || errs.Len() > 0) {
		t.Fatalf("%v: %s", err, &errs)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(rest, &peak); err != nil {
		t.Fatal(err)
	}
	return peak << 10, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// sparseModel writes a safetensors file of zeros, which takes no room on disk: a tensor of
// half of it, and many small ones.
func sparseModel(t *testing.T, size int64) string {
	t.Helper()
	header, end := map[string]any{}, int64(0)
	add := func(name string, n int64) {
		header[name] = map[string]any{"dtype": "F32", "shape": []int64{n / 4}, "data_offsets": []int64{end, end + n}}
		end += n
	}
	add("large", size/2)
	for i := range int64(2000) {
		add(fmt.Sprintf("small.%04d", i), size/2/2000&^3)
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, bytes.Repeat([]byte(" "), 7-(len(text)+7)%8)...)
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := os.WriteFile(path, append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(8+len(text))+end); err != nil {
		t.Fatal(err)
	}
	return path
}

// packed writes a model of n tensors of zeros, each of size bytes.
func packed(t *testing.T, name, method string, n int, size int64) string {
	t.Helper()
	p := &format.Plan{}
	for i := range n {
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprintf("t%d", i), DType: tensor.Float32, Shape: tensor.Shape{size / 4096, 1024}})
	}
	path := filepath.Join(t.TempDir(), name)
	w, err := format.Create("", path, p, &format.WriteOptions{NoSync: true, KeepNames: true, Storage: format.Storage{Compression: method, Level: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, info := range p.Tensors {
		if err := w.WriteTensor(info.Name, io.LimitReader(nulls{}, size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// deflated is packed for a NumPy archive.
func deflated(t *testing.T, n int, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.npz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for i := range n {
		w, err := z.Create(fmt.Sprintf("t%d.npy", i))
		if err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", size/4)
		head += strings.Repeat(" ", 64-(len(head)+11)%64) + "\n"
		text := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
		if _, err := io.Copy(w, io.MultiReader(bytes.NewReader(append(text, head...)), io.LimitReader(nulls{}, size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

type nulls struct{}

func (nulls) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestPeakMemory: what reads all data of a model takes memory for one tensor that is decoded,
// and none for what is mapped, however large the model. With WEIGHTMAP_LARGE set the file has
// 6.4 GB, and each command has its turn with each format.
func TestPeakMemory(t *testing.T) {
	testhost.NeedResident(t)
	if testing.Short() || testhost.Race {
		t.Skip("reads gigabytes; and the race detector takes memory of its own")
	}
	const little, decoded = 100 << 20, 64 << 20
	size, large := int64(512<<20), os.Getenv("WEIGHTMAP_LARGE") != ""
	if large {
		size = 6_400_000_000
	}
	files := map[string]string{
		"sparse": sparseModel(t, size),
		"zstd":   packed(t, "m.wia", "zstd", 4, decoded),
		"npz":    deflated(t, 4, decoded),
		"gzip":   packed(t, "m.mobi", "gzip", 4, decoded),
	}
	for _, args := range []string{"verify F", "inspect -stats F", "inspect -json -sha256 F", "inspect -html F", "diff F F", "cat -as raw F T", "convert F OUT.safetensors", "convert -verify -dtype float16 F OUT.npz", "convert -quantize int8 F OUT.wia"} {
		for _, what := range []string{"sparse", "zstd", "npz", "gzip"} {
			if (what == "npz" || what == "gzip") && !large && args != "inspect -stats F" && args != "convert F OUT.safetensors" {
				continue
			}
			t.Run(args+" "+what, func(t *testing.T) {
				most, name := int64(little), map[string]string{"sparse": "large", "gzip": "1"}[what]
				if what != "sparse" {
					most += decoded
				}
				if strings.HasPrefix(args, "diff") && what != "sparse" {
					most += decoded // of each side
				}
				if name == "" {
					name = "t1"
				}
				real := strings.NewReplacer("F", files[what], "OUT", filepath.Join(t.TempDir(), "out"), "T", name)
				got, _ := measured(t, slices.Collect(func(yield func(string) bool) {
					for _, arg := range strings.Fields(args) {
						if arg == "F" || arg == "T" || strings.HasPrefix(arg, "OUT") {
							arg = real.Replace(arg)
						}
						yield(arg)
					}
				})...)
				t.Logf("%d MB at most", got>>20)
				if got > most {
					t.Errorf("%d MB of memory, at most %d", got>>20, most>>20)
				}
			})
		}
	}
}

// TestCosts: eight times the tensors, or nodes, take no more than eight times the memory and
// about the time. Names that share long beginnings are no exception.
func TestCosts(t *testing.T) {
	testhost.NeedResident(t)
	if testing.Short() || testhost.Race {
		t.Skip("takes a while; and the race detector takes memory of its own")
	}
	const few, times = 5000, 8
	// write saves a model of n tensors, or nodes.
	write := func(file string, n int, name func(i int) string) string {
		p := &format.Plan{}
		if file == "m.onnx" {
			p.Graph = &format.Graph{Name: "g", Inputs: []format.ValueInfo{{Name: "v0", DType: tensor.Float32}}, Outputs: []format.ValueInfo{{Name: fmt.Sprint("v", n), DType: tensor.Float32}}}
			for i := range n {
				p.Graph.Nodes = append(p.Graph.Nodes, format.Node{Op: "Relu", Name: name(i), Inputs: []string{fmt.Sprint("v", i)}, Outputs: []string{fmt.Sprint("v", i+1)}})
			}
			n = 1
		}
		for i := range n {
			p.Tensors = append(p.Tensors, tensor.Info{Name: name(i), DType: tensor.Float32, Shape: tensor.Shape{int64(1 + i%3)}})
		}
		return waves(t, file, p)
	}
	for what, name := range map[string]func(i int) string{
		"m.safetensors layers": func(i int) string { return fmt.Sprintf("model.layers.%d.part%d.weight", i/10, i%10) },
		"m.safetensors deep":   func(i int) string { return strings.Repeat("a.", 1+i%60) + fmt.Sprint(i) },
		"m.wia layers":         func(i int) string { return fmt.Sprintf("layers.%d.w", i) },
		"m.onnx graph":         func(i int) string { return fmt.Sprintf("node%d", i) },
	} {
		file, _, _ := strings.Cut(what, " ")
		small, large := write(file, few, name), write(file, times*few, name)
		for _, args := range []string{"verify", "inspect", "inspect -json", "inspect -json -sha256", "inspect -stats", "inspect -html", "diff", "diff " + small} {
			smallPeak, smallTook := measured(t, append(strings.Fields(args+" "+small), filled(args == "diff", small)...)...)
			peak, took := measured(t, append(strings.Fields(args+" "+large), filled(args == "diff", large)...)...)
			t.Logf("%-22s %-22s %4d MB %6.0f ms   %d times: %4d MB %6.0f ms", what, strings.TrimSuffix(args, small), smallPeak>>20, ms(smallTook), times, peak>>20, ms(took))
			// Each starts with about 12 MB and 20 ms. What grows with the square would take 64 times as long.
			if peak > times*smallPeak || took > 3*times*max(smallTook, 20*time.Millisecond) {
				t.Errorf("%s: %s grows faster than the model", what, args)
			}
		}
	}
}

func filled(both bool, path string) []string {
	if both {
		return []string{path}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }
