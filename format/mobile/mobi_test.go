package mobile

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

// TestMobi opens what a phone is most likely to: a quantized, compressed model
// with a graph.
func TestMobi(t *testing.T) {
	plan := &format.Plan{
		Metadata: format.Metadata{{Key: "name", Value: "tiny"}},
		Tensors: []tensor.Info{{Name: "1", DType: tensor.Int8, Shape: tensor.Shape{2, 512}, Quant: &tensor.Quantization{
			Scales: []float32{0.5, 2}, ZeroPoints: []int32{1, -1}, Axis: 0}}},
		Graph: &format.Graph{
			Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: format.FixedDims(1, 512)}},
			Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: format.FixedDims(1, 2)}},
			Nodes:   []format.Node{{Op: "FullyConnected", Inputs: []string{"x", "1"}, Outputs: []string{"y"}}},
		},
	}
	var out bytes.Buffer
	w, err := mobi.NewWriter(&out, plan, &mobi.WriteOptions{Gzip: 9})
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte{3}, 1024)
	if err := w.WriteTensor("1", bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := OpenBytes(out.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := m.Verify(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Covered() || r.String() != "ok" || r.ChecksumOf("1") == "" {
		t.Errorf("%v, covered %v, tensor by %q", r, r.Covered(), r.ChecksumOf("1"))
	}
	want := description{Format: "mobi", Version: "1", Tensors: []tensorDescription{
		{Name: "1", DType: "int8", Shape: []int64{2, 512}, Len: 1024, ByteSize: 1024, Place: -1, Data: data},
	}}
	got := describe(t, m)
	got.Metadata = "" // has the time of writing
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	x := get(t, m, "1")
	if m.Name() != "tiny" || x.Compression() != "gzip" || x.QuantCount() != 2 || x.QuantAxis() != 0 {
		t.Errorf("name %q, compression %q, %d scales along axis %d", m.Name(), x.Compression(), x.QuantCount(), x.QuantAxis())
	}
	for i, want := range map[int64]float32{0: 1, 511: 1, 512: 8, 1023: 8} { // (3-1)*0.5, (3+1)*2
		if f, err := x.Float32At(i); f != want || err != nil {
			t.Errorf("element %d: %v, %v, want %v", i, f, err, want)
		}
	}
	if at, err := x.Address(); at == 0 || err != nil {
		t.Errorf("address %d, %v", at, err)
	}
	text, err := m.GraphJSON()
	if err != nil {
		t.Fatal(err)
	}
	var graph struct {
		Inputs []struct{ Name string }
		Nodes  []struct {
			Op     string
			Inputs []string
		}
	}
	if err := json.Unmarshal([]byte(text), &graph); err != nil {
		t.Fatal(err)
	}
	if len(graph.Inputs) != 1 || len(graph.Nodes) != 1 || graph.Nodes[0].Op != "FullyConnected" {
		t.Errorf("graph %s", text)
	}
}
