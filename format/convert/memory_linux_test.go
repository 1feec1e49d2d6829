package convert_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestMain is also the child of TestPeakMemory, which converts one file.
func TestMain(m *testing.M) {
	if args := os.Getenv("WEIGHTMAP_CONVERT"); args != "" {
		if err := convertInChild(strings.Fields(args)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// convertInChild converts and prints how much memory that took at most, in kB.
func convertInChild(args []string) error {
	o := &convert.Options{To: args[2], Lossy: true}
	o.NoSync = true
	switch args[3] {
	case "int8":
		o.Quantize = convert.Quantized(tensor.QuantizeOptions{})
	case "channels":
		o.Quantize = convert.Quantized(tensor.QuantizeOptions{PerChannel: true})
	case "float16":
		o.DType = tensor.Float16
	case "float32":
		o.DType = tensor.Float32
	case "verified":
		o.Verify = true
	case "gzip", "zstd":
		o.Storage = format.Storage{Compression: args[3], Level: 1}
	}
	if _, err := convert.File(args[0], args[1], o); err != nil {
		return err
	}
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			fmt.Println(strings.Fields(rest)[0])
		}
	}
	return nil
}

// sparse writes a safetensors file of zeros, which takes no room on disk: one large
// tensor and some small ones.
func sparse(t *testing.T, path string, size int64) {
	t.Helper()
	header, end := map[string]any{}, int64(0)
	add := func(name string, rows int64) {
		header[name] = map[string]any{"dtype": "F32", "shape": []int64{rows, 1024}, "data_offsets": []int64{end, end + 4096*rows}}
		end += 4096 * rows
	}
	add("a", size/2/4096)
	for i := range int64(8) {
		add(fmt.Sprint("b", i), size/2/8/4096)
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(b))+end); err != nil {
		t.Fatal(err)
	}
}

// TestPeakMemory: a conversion takes less than 64 MB of memory in all, pages of mappings
// among them, however large the model. Each runs in a process of its own. With
// WEIGHTMAP_LARGE set the model has 1 GB, and all formats have their turn.
func TestPeakMemory(t *testing.T) {
	const most = 64 << 10 // kB
	size, all := int64(256<<20), os.Getenv("WEIGHTMAP_LARGE") != ""
	if all {
		size = 1 << 30
	}
	if testing.Short() || testhost.Race {
		t.Skip("writes large files; and the race detector takes memory of its own")
	}
	dir := t.TempDir()
	large := filepath.Join(dir, "large.safetensors")
	sparse(t, large, size)
	run := func(t *testing.T, in, out, to, how string) {
		t.Helper()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WEIGHTMAP_CONVERT="+strings.Join([]string{in, out, to, how}, " "))
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		peak, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s from %s to %s: %d MB at most", how, filepath.Ext(in), to, peak>>10)
		if peak >= most {
			t.Errorf("%s from %s to %s took %d kB", how, filepath.Ext(in), to, peak)
		}
	}
	for _, how := range []string{"int8 wia", "channels wia", "float16 mag", "verified npz", "zstd wia", "gzip mobi", "zstd mle"} {
		if how, to, _ := strings.Cut(how, " "); all || to != "mle" && how != "zstd" && how != "gzip" {
			t.Run(how+" "+to, func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "out."+to)
				run(t, large, out, to, how)
				if all && how == "int8" {
					run(t, out, filepath.Join(filepath.Dir(out), "back.safetensors"), "safetensors", "float32")
				}
			})
		}
	}
	for _, to := range format.Writable() {
		if to == "npy" || !all && to != "mobi" && to != "wia" {
			continue
		}
		t.Run("plain "+to, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "out."+to)
			run(t, large, out, to, "plain")
			run(t, out, filepath.Join(dir, "back.safetensors"), "safetensors", "plain")
		})
	}
}
