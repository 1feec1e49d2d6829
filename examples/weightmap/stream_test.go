package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/adler32"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestStreamedJSON: the text is that of encoding/json, which makes it whole.
func TestStreamedJSON(t *testing.T) {
	type whole struct {
		Path      string           `json:"path"`
		Format    string           `json:"format"`
		Version   string           `json:"version"`
		FileSize  int64            `json:"file_size"`
		Metadata  format.Metadata  `json:"metadata"`
		Tensors   []tensorReport   `json:"tensors"`
		Graph     *format.Graph    `json:"graph"`
		Signature *signatureReport `json:"signature"`
		Notes     []string         `json:"notes"`
	}
	when := "2024-02-29T23:59:58Z"
	graph := &format.Graph{
		Name:   "a<b>&\"c\"",
		Inputs: []format.ValueInfo{{Name: "<x>", DType: tensor.Float32, Dims: []format.Dim{{Symbol: "batch&"}, {Size: -1}}}, {}},
		Nodes: []format.Node{
			{},
			{Name: "<n>", Op: "If", Domain: "com.example&", Inputs: []string{"", "重み"}, Outputs: []string{"y\n"}, Attributes: []format.Attribute{
				{Name: "then>", Value: &format.Graph{Name: "<t>", Nodes: []format.Node{{Op: "Relu", Inputs: []string{"x"}}}}},
				{Name: "raw", Value: json.RawMessage(`{"a<": [1, {"b": "<"}], "c": {}}`)},
				{Name: "nan", Value: []float64{math.NaN(), 1}}, {Name: "none", Value: []int64{}},
			}},
		},
	}
	for name, r := range map[string]*report{
		"nothing": {Notes: []string{}, Tensors: []tensorReport{}},
		"all": {
			Path: "a<b>.mag", Format: "mag", Version: "1", FileSize: 7, Notes: []string{"one & \"two\"", "<three>"},
			Metadata:  format.Metadata{{Key: "nodes", Value: json.RawMessage("[]")}, {Key: "<k>", Value: "<v>"}, {Key: "inf", Value: math.Inf(1)}},
			Tensors:   []tensorReport{{Name: "<w>", DType: "int8", Shape: []int64{}}, {Name: "v", Shape: []int64{2, 3}, Quantization: &quantizationReport{Scheme: "linear"}}},
			Signature: &signatureReport{Algorithm: "Ed25519", Time: &when}, Graph: graph,
		},
		"long nodes": {Notes: []string{}, Tensors: []tensorReport{}, Graph: &format.Graph{Nodes: []format.Node{
			{Name: "<n>", Op: "Add<", Inputs: []string{"重み<&>", strings.Repeat("x", 1<<16)}},
			{Domain: "com.example&", Outputs: slices.Repeat([]string{strings.Repeat("<", 1<<10)}, 64), Attributes: []format.Attribute{
				{Name: "a<", Value: int64(1)}, {Name: "then>", Value: &format.Graph{Name: "<t>"}},
			}},
		}}},
		"an empty graph": {Graph: &format.Graph{}, Notes: []string{}, Tensors: []tensorReport{}},
	} {
		for _, oneLine := range []bool{false, true} {
			var want, got bytes.Buffer
			e := json.NewEncoder(&want)
			e.SetEscapeHTML(false)
			if !oneLine {
				e.SetIndent("", " ")
			}
			must(t, e.Encode(whole{r.Path, r.Format, r.Version, r.FileSize, r.Metadata, r.Tensors, r.Graph, r.Signature, r.Notes}))
			must(t, r.json(bufio.NewWriter(&got), oneLine))
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("%s, on one line: %v (-want +got):\n%s", name, oneLine, diff)
			}
		}
	}
	r := &report{Metadata: format.Metadata{{Key: "k", Value: json.RawMessage("{")}}}
	if err := r.json(bufio.NewWriter(&bytes.Buffer{}), false); err == nil {
		t.Error("no error for what is no JSON")
	}
}

// heapPeak is a writer that looks at what is held.
type heapPeak struct {
	written int
	most    int64
}

func (h *heapPeak) Write(p []byte) (int, error) {
	h.written += len(p)
	h.most = max(h.most, held())
	return len(p), nil
}

// held returns the bytes of the heap that are in use: how much garbage there is, too, depends
// on the collector, which has no processor of its own everywhere. Pools outlast the first turn.
func held() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestInspectHoldsOneNode: next to the graph of a file, its text takes next to nothing,
// in any form.
func TestInspectHoldsOneNode(t *testing.T) {
	for name, file := range map[string][]byte{
		"many nodes":     crowd(1 << 16), // 8 MB as a graph, and as JSON
		"one long input": chant(32<<10, 500),
	} {
		t.Run(name, func(t *testing.T) { holdsOneNode(t, file) })
	}
}

func holdsOneNode(t *testing.T, file []byte) {
	path := filepath.Join(t.TempDir(), "m.mobi")
	must(t, os.WriteFile(path, file, 0o600))
	before := held()
	m, err := format.Open(path, nil)
	must(t, err)
	graph := held() - before
	must(t, m.Close())
	due := graph + 2<<20
	if !testhost.Maps() {
		due += 2 * int64(len(file)) // in memory, and what it was read through
	}
	for _, args := range [][]string{{"inspect"}, {"inspect", "-json"}, {"inspect", "-html"}} {
		before, out := held(), &heapPeak{}
		if status := run(t.Context(), append(args, path), out, os.Stderr); status != 0 {
			t.Fatalf("%q: status %d", args, status)
		}
		if used := out.most - before; used > due {
			t.Errorf("%q: %d bytes, the graph takes %d and the text %d", args, used, graph, out.written)
		}
	}
}

// crowd is a MOBI file of n Relu without inputs and outputs: header, metadata of
// nothing, constants of nothing, operators, and a footer.
func crowd(n int) []byte {
	return withOperators(make([]byte, 24), n, bytes.Repeat([]byte{6, 0, 0, 0, 0, 0, 0, 0}, n))
}

// chant is a MOBI file of an Add that takes the one input, whose name is long, many times.
func chant(length, times int) []byte {
	le := binary.LittleEndian
	metadata := le.AppendUint32(make([]byte, 16), 1) // an input
	metadata = le.AppendUint32(metadata, 0)
	metadata = le.AppendUint32(metadata, uint32(length))
	metadata = append(metadata, strings.Repeat("x", length)...)
	metadata = le.AppendUint32(metadata, 0) // rank, data type
	operator := le.AppendUint16([]byte{10, 0}, uint16(times))
	operator = append(operator, make([]byte, 4+4*times)...)
	return withOperators(metadata, 1, operator)
}

func withOperators(metadata []byte, n int, operators []byte) []byte {
	le := binary.LittleEndian
	b := append([]byte("IBOM\x01\x00"), make([]byte, 26)...)
	b = append(b, metadata...)
	graph := uint32(len(b))
	b = append(le.AppendUint32(b, uint32(n)), operators...)
	le.PutUint32(b[16:], uint32(len(b))+4)
	for i, at := range []uint32{32, graph, graph} {
		le.PutUint32(b[20+4*i:], at)
	}
	return le.AppendUint32(b, adler32.Checksum(b))
}
