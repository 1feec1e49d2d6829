package convert_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/tensor"
)

// networks are files of networks in ONNX's operators: as they were, and as they came back from other
// formats.
func networks(t *testing.T) (paths []string) {
	for _, tt := range []struct {
		net   *builder
		chain []string
	}{
		{mnist(), []string{"mobi", "mle", "onnx"}}, {cifar(true), []string{"mobi", "mle", "onnx"}}, {cifar(false), []string{"mobi", "onnx"}},
	} {
		path := tt.net.write(t, "onnx", 17)
		paths = append(paths, path)
		for _, to := range tt.chain {
			path = translated(t, path, to)
		}
		paths = append(paths, path)
	}
	mobi, mle := natives()
	small := filepath.Join(t.TempDir(), "q.mobi")
	if _, err := convert.File(paths[0], small, &convert.Options{Lossy: true, Quantize: convert.Quantized(tensor.QuantizeOptions{DType: tensor.Int8})}); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(4) {
		for _, to := range []string{"wia", "mobi"} {
			path := spreading(1+seed).write(t, "onnx", 17)
			paths = append(paths, path, quantizedNetwork(t, path, to, true))
		}
	}
	path := exported().write(t, "onnx", 11)
	return append(paths, translated(t, small, "onnx"), path, translated(t, translated(t, path, "mobi"), "onnx"), translated(t, mobi.write(t, "mobi", 0), "onnx"), translated(t, mle.write(t, "mle", 0), "onnx"))
}

const checkScript = `
import sys, onnx
from onnx import shape_inference
for path in sys.argv[1:]:
    onnx.checker.check_model(path, full_check=True)
    m = onnx.load(path)
    i = shape_inference.infer_shapes(m, check_type=True, strict_mode=True)
    known = {v.name for v in i.graph.value_info} | {o.name for o in m.graph.output}
    for n in m.graph.node:
        assert set(n.output) <= known, (path, n.op_type, n.output)
`

// TestCheckerAccepts lets ONNX's checker and strict shape inference look at networks that came
// from other formats.
func TestCheckerAccepts(t *testing.T) {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import onnx").Run() != nil {
			continue
		}
		if out, err := exec.Command(python, append([]string{"-c", checkScript}, networks(t)...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	t.Skip("no python3 with the module onnx (Debian: python3-onnx)")
}

const runScript = `
const fs = require('fs'), ort = require(process.argv[1] + '/node_modules/onnxruntime-web');
ort.env.wasm.numThreads = 1;
(async () => {
  const out = [];
  for (const { path, inputs } of JSON.parse(fs.readFileSync(process.argv[2]))) {
    const session = await ort.InferenceSession.create(path, { graphOptimizationLevel: 'disabled' });
    const feeds = {};
    for (const [name, { dims, data }] of Object.entries(inputs)) feeds[name] = new ort.Tensor('float32', Float32Array.from(data), dims);
    const y = (await session.run(feeds))[session.outputNames[0]];
    out.push({ dims: y.dims, data: Array.from(y.data) });
  }
  console.log(JSON.stringify(out));
})().catch((e) => { console.error(e); process.exit(1); });
`

// value is a tensor for ONNX Runtime, or of it.
type value struct {
	Dims []int     `json:"dims"`
	Data []float32 `json:"data"`
}

// run is a model with its inputs.
type run struct {
	Path   string           `json:"path"`
	Inputs map[string]value `json:"inputs"`
}

// runtime has ONNX Runtime compute the first output of each model.
func runtime(t *testing.T, runs []run) []value {
	t.Helper()
	peer := os.Getenv("ONNXRUNTIME_WEB")
	text, err := json.Marshal(runs)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "runs.json")
	if err := os.WriteFile(list, text, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("node", "-e", runScript, "--", peer, list).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	var got []value
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %.200s", err, out)
	}
	return got
}

func needRuntime(t *testing.T) {
	t.Helper()
	if os.Getenv("ONNXRUNTIME_WEB") == "" {
		t.Skip("ONNXRUNTIME_WEB is not set: where npm has installed onnxruntime-web")
	}
}

// TestRuntimeAgrees lets ONNX Runtime run the networks: the evaluator of these tests means by ONNX's
// operators what the rest of the world does.
func TestRuntimeAgrees(t *testing.T) {
	needRuntime(t)
	var runs []run
	for _, path := range networks(t) {
		r := run{path, map[string]value{}}
		for name, a := range inputFor(open(t, path)) {
			r.Inputs[name] = value{a.shape, a.data}
		}
		runs = append(runs, r)
	}
	for i, got := range runtime(t, runs) {
		near(t, runs[i].Path, &array{got.Dims, got.Data}, outputs(t, runs[i].Path), false)
	}
}
