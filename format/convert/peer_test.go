package convert_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// checked are files of networks that came from other formats.
func checked(t *testing.T) (paths []string) {
	for _, b := range []*builder{mnist(), cifar(false), exported()} {
		paths = append(paths, translated(t, translated(t, b.write(t, "onnx", 11), "mobi"), "onnx"))
	}
	return append(paths, quantizedNetwork(t, spreading(1).write(t, "onnx", 17), "mobi", true))
}

// TestCheckerAccepts lets ONNX's checker and strict shape inference look at networks that came
// from other formats.
func TestCheckerAccepts(t *testing.T) { testhost.Python(t, "onnx", "testdata/check.py", checked(t)...) }

// value is a tensor for ONNX Runtime, or of it.
type value struct {
	Dims []int     `json:"dims"`
	Data []float32 `json:"data"`
}

// computed has ONNX Runtime compute the first output of each model from an input of the given shape.
func computed(t *testing.T, shape []int, paths ...string) (outputs [][]float32) {
	t.Helper()
	peer := os.Getenv("ONNXRUNTIME_WEB")
	if peer == "" {
		t.Skip("ONNXRUNTIME_WEB is not set: where npm has installed onnxruntime-web")
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	var runs []map[string]any
	for _, path := range paths {
		g, err := open(t, path).Graph()
		expect.OK(t, err)
		runs = append(runs, map[string]any{"path": path, "inputs": map[string]value{g.Inputs[0].Name: {shape, wave(n)}}})
	}
	text, err := json.Marshal(runs)
	expect.OK(t, err)
	list := filepath.Join(t.TempDir(), "runs.json")
	expect.OK(t, os.WriteFile(list, text, 0o666))
	out, err := exec.Command("node", "testdata/run.js", peer, list).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	var got []value
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %.200s", err, out)
	}
	for _, v := range got {
		outputs = append(outputs, v.Data)
	}
	return outputs
}

// TestMeaning: networks compute the same in ONNX Runtime before and after they pass through other formats.
func TestMeaning(t *testing.T) {
	mobi, mle := natives()
	for name, tt := range map[string]struct {
		path, chain string
		shape       []int
	}{
		"mnist":       {mnist().write(t, "onnx", 17), "mobi mle onnx wia mobi onnx", []int{2, 1, 28, 28}},
		"small cifar": {cifar(true).write(t, "onnx", 17), "mobi mle onnx wia mle onnx", []int{2, 3, 16, 16}},
		"cifar":       {cifar(false).write(t, "onnx", 17), "mobi onnx", []int{2, 3, 16, 16}},
		"exported":    {exported().write(t, "onnx", 11), "mobi onnx mle onnx", []int{2, 1, 8, 8}},
		"native mobi": {translated(t, mobi.write(t, "mobi", 0), "onnx"), "mobi onnx", []int{1, 2, 12, 12}},
		"native mle":  {translated(t, mle.write(t, "mle", 0), "onnx"), "mle onnx", []int{1, 2, 12, 12}},
	} {
		t.Run(name, func(t *testing.T) {
			paths, path := []string{tt.path}, tt.path
			for _, to := range strings.Fields(tt.chain) {
				if path = translated(t, path, to); to == "onnx" {
					paths = append(paths, path)
				}
			}
			outputs := computed(t, tt.shape, paths...)
			for _, got := range outputs[1:] {
				expect.Equal(t, outputs[0], got, cmpopts.EquateApprox(1e-5, 1e-6))
			}
		})
	}
}

// TestNetworksSurvive: int8 changes the outputs of networks by less than 5 % of their range, and not the
// answer, though their channels differ by three decades. With one scale for a tensor it changes more.
func TestNetworksSurvive(t *testing.T) {
	for _, to := range []string{"wia", "mobi", "mle"} {
		worst, single := 0.0, 0.0
		for seed := range uint64(8) {
			in := spreading(1+seed).write(t, "onnx", 17)
			outputs := computed(t, []int{2, 3, 8, 8}, in, quantizedNetwork(t, in, to, true), quantizedNetwork(t, in, to, false))
			off, same := apart(outputs[0], outputs[1])
			if worst = max(worst, off); off > 0.05 || !same {
				t.Errorf("%s, network %d: outputs are off by %.1f %% of their range, the same answer: %v", to, seed, 100*off, same)
			}
			off, _ = apart(outputs[0], outputs[2])
			single = max(single, off)
		}
		if t.Logf("%s: off by at most %.1f %% of the range; with one scale %.0f %%", to, 100*worst, 100*single); single < 0.05 {
			t.Errorf("%s: channels do not need scales: the networks are too easy", to)
		}
	}
}

// apart compares rows of 10 outputs: the largest difference relative to the row's range, and whether all
// their largest elements are the same.
func apart(want, got []float32) (off float64, same bool) {
	same = true
	for ; len(want) > 0; want, got = want[10:], got[10:] {
		w, g := want[:10], got[:10]
		for i := range w {
			off = max(off, math.Abs(float64(w[i]-g[i]))/float64(slices.Max(w)-slices.Min(w)))
		}
		same = same && slices.Index(w, slices.Max(w)) == slices.Index(g, slices.Max(g))
	}
	return off, same
}
