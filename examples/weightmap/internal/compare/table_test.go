package compare

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestNarrowTable: on a terminal of 80 columns names and errors stay, and what they are computed from goes.
func TestNarrowTable(t *testing.T) {
	m := &measure{count: 16384, differ: 16000, max: 0.001, sum: 4, ab: 10, aa: 10, bb: 10, squares: 0.1, b: saturation{true, 41, 16384}}
	d := &difference{rows: []row{{
		name: "model.layers.3.mlp.down_proj.weight", what: "dtype, quantization, data", a: "float32[64,256]", b: "int8[64,256]", values: m,
	}}}
	var out bytes.Buffer
	expect.OK(t, d.table().Write(&out, 80))
	want := `NAME                        DIFFERS                      COSINE  NMSE  SATURATED
model.layers.…_proj.weight  dtype, quantization, data  1.000000  0.01     0.25 %
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
