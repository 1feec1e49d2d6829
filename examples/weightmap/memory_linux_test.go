package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// init makes the test program the tool, in the process that TestPeakMemory measures.
func init() {
	path := os.Getenv("WEIGHTMAP_STATUS")
	if path == "" {
		return
	}
	debug.SetGCPercent(testhost.HeapPercent)
	heap := testhost.WatchHeap()
	status := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
	report := fmt.Appendf(nil, "peak: %d\n", heap.Peak())
	// What the system tells the parent counts the parent's own memory, too.
	text, err := os.ReadFile("/proc/self/status")
	if err == nil {
		err = os.WriteFile(path, append(report, text...), 0o666)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(status)
}

// measured runs the tool in a child process and returns the most that was live in it, and resident, in bytes.
// Differences are no failure.
func measured(t *testing.T, args ...string) (live, resident int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	path := filepath.Join(t.TempDir(), "status")
	cmd.Env = append(os.Environ(), "WEIGHTMAP_STATUS="+path, "GOMAXPROCS=4")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil && (args[0] != "diff" || errs.Len() > 0) {
		t.Fatalf("%v: %s", err, &errs)
	}
	report := string(expect.Read(t, path))
	_, err := fmt.Sscanf(report, "peak: %d", &live)
	expect.OK(t, err)
	_, rest, _ := strings.Cut(report, "VmHWM:")
	_, err = fmt.Sscan(rest, &resident)
	expect.OK(t, err)
	return live, resident << 10
}

// sparseModel writes a model of zeros: a tensor of half of it, and many small ones.
func sparseModel(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.safetensors")
	sparse(t, path, append(slices.Repeat([]int64{size / 2 / 2000 &^ 4095}, 2000), size/2)...)
	return path
}

// packed writes a model of n tensors of zeros, each of size bytes.
func packed(t *testing.T, name, method string, n int, size int64) string {
	t.Helper()
	p := &schema.Schema{}
	for i := range n {
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprintf("t%d", i), DType: tensor.Float32, Shape: tensor.Shape{size / 4096, 1024}})
	}
	path := filepath.Join(t.TempDir(), name)
	w, err := format.Create(path, p, &format.WriteOptions{NoSync: true, KeepNames: true, Compression: method, Level: 1})
	fill(t, w, err, p)
	return path
}

// TestPeakMemory: what reads all data of a model takes memory for one tensor that is decoded,
// and none for what is mapped, however large the model. With WEIGHTMAP_LARGE set the file has
// 6.4 GB, and each command has its turn with each format.
func TestPeakMemory(t *testing.T) {
	testhost.NeedResident(t)
	if testing.Short() || testhost.Race {
		t.Skip("reads gigabytes; and the race detector takes memory too")
	}
	const (
		little     = 8 << 20
		rows       = 24 << 20 // scales of all channels, or a page with all tensors
		decoded    = 64 << 20
		ownProgram = 64 << 20 // resident
	)
	size, large := int64(256<<20), os.Getenv("WEIGHTMAP_LARGE") != ""
	if large {
		size = 6_400_000_000
	}
	files := map[string]string{
		"sparse": sparseModel(t, size),
		"zstd":   packed(t, "m.wia", "zstd", 2, decoded),
		"gzip":   packed(t, "m.mobi", "gzip", 2, decoded),
		"one":    packed(t, "m.mle", "zstd", 8, decoded/4), // compressed as a whole
	}
	for _, args := range []string{"verify F", "inspect -stats F", "inspect -json -sha256 F", "inspect -html F", "diff F F", "cat -as raw F T", "convert F OUT.safetensors", "convert -verify -dtype float16 F OUT.npz", "convert -quantize int8 -per-channel F OUT.wia"} {
		for _, what := range []string{"sparse", "zstd", "gzip", "one"} {
			if what == "one" && !strings.HasPrefix(args, "diff") {
				continue
			}
			if what == "gzip" && !large && args != "inspect -stats F" && args != "convert F OUT.safetensors" {
				continue
			}
			t.Run(args+" "+what, func(t *testing.T) {
				most, name := int64(little), map[string]string{"sparse": "w2000", "gzip": "1"}[what]
				if strings.Contains(args, "-quantize") || strings.Contains(args, "-html") {
					most = rows
				}
				switch {
				case what == "sparse":
				case strings.HasPrefix(args, "diff"):
					most += little // decoders of two sides
				default:
					most += decoded
				}
				if name == "" {
					name = "t1"
				}
				real := strings.NewReplacer("F", files[what], "OUT", filepath.Join(t.TempDir(), "out"), "T", name)
				list := strings.Fields(args)
				for i, arg := range list {
					if arg == "F" || arg == "T" || strings.HasPrefix(arg, "OUT") {
						list[i] = real.Replace(arg)
					}
				}
				live, resident := measured(t, list...)
				t.Logf("%d MB live at most, %d MB resident", live>>20, resident>>20)
				if live > testhost.MostFound(most) {
					t.Errorf("%d MB were live, at most %d are due, and a margin", live>>20, most>>20)
				}
				if resident > testhost.MostResident(most)+ownProgram {
					t.Errorf("%d MB were resident, where %d may be live", resident>>20, most>>20)
				}
			})
		}
	}
}
