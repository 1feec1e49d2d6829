package lowbit

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/tensor"
)

// TestValues decodes bytes to values from the published tables of the types.
func TestValues(t *testing.T) {
	nan, tiny := float32(math.NaN()), float32(math.Ldexp(1, -127))
	for _, tt := range []struct {
		name string
		src  []byte
		want []float32
	}{
		{"F4", []byte{0x10, 0x32, 0x54, 0x76, 0x98, 0xfe}, []float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -4, -6}},
		{"FLOAT4E2M1", []byte{0xf7}, []float32{6, -6}},
		// 0, 0.125, 1, 7.5: 000000 000001 001000 011111, the first lowest
		{"F6_E2M3", []byte{0b01_000000, 0b1000_0000, 0b011111_00}, []float32{0, 0.125, 1, 7.5}},
		{"F6_E2M3", []byte{0b11_100000, 0b1000_1111, 0b101111_10}, []float32{0, -7.5, -1, -1.875}},
		// 0.0625, 1, 28, -28: 000001 001100 011111 111111
		{"F6_E3M2", []byte{0b00_000001, 0b1111_0011, 0b111111_01}, []float32{0.0625, 1, 28, -28}},
		{"F8_E8M0", []byte{0, 1, 127, 128, 254, 255}, []float32{tiny, 2 * tiny, 1, 2, float32(math.Ldexp(1, 127)), nan}},
		{"FLOAT8E8M0", []byte{130}, []float32{8}},
		{"F8_E4M3FNUZ", []byte{0, 1, 0x08, 0x40, 0x7f, 0x80, 0x81, 0xff}, []float32{0, float32(math.Ldexp(1, -10)), float32(math.Ldexp(1, -7)), 1, 240, nan, float32(-math.Ldexp(1, -10)), -240}},
		{"FLOAT8E5M2FNUZ", []byte{0, 1, 0x04, 0x40, 0x7f, 0x80, 0xff}, []float32{0, float32(math.Ldexp(1, -17)), float32(math.Ldexp(1, -15)), 1, 57344, nan, -57344}},
		{"INT4", []byte{0x87, 0xf0}, []float32{7, -8, 0, -1}},
		{"UINT4", []byte{0x87, 0xf0}, []float32{7, 8, 0, 15}},
		{"INT2", []byte{0b11_10_01_00}, []float32{0, 1, -2, -1}},
		{"UINT2", []byte{0b11_10_01_00}, []float32{0, 1, 2, 3}},
	} {
		e := Encoding(tt.name)
		got := make([]float32, len(tt.want))
		if err := e.Decode(got, tt.src); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if d := cmp.Diff(tt.want, got, cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
		if e.Decode(got, tt.src[1:]) == nil {
			t.Errorf("%s: too few bytes are accepted", tt.name)
		}
	}
	if Encoding("F16") != nil || Type("FLOAT4E2M1") != "F4" || Type("INT4") != "INT4" || Type("x") != "x" {
		t.Error("names")
	}
}

// TestFlat decodes rows, and parts of rows, that do not fill whole bytes.
func TestFlat(t *testing.T) {
	info := tensor.Info{Name: "w", Encoding: Encoding("INT4"), Shape: tensor.Shape{3, 3}}
	v, err := tensor.FromInfo(info, []byte{0x21, 0x43, 0x65, 0x87, 0x09})
	if err != nil {
		t.Fatal(err)
	}
	got, err := tensor.Decode[float32](nil, v)
	if d := cmp.Diff([]float32{1, 2, 3, 4, 5, 6, 7, -8, -7}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for first := range 9 {
		for n := 0; first+n <= 9; n++ {
			part := make([]float32, n)
			if err := tensor.DecodeAt(part, v, int64(first)); err != nil || cmp.Diff(got[first:first+n], part, cmpopts.EquateEmpty()) != "" {
				t.Errorf("%d from %d: %v, %v", n, first, part, err)
			}
		}
	}
	if _, err := v.Slice(tensor.Range{From: 1, To: 2}); err == nil {
		t.Error("a row that shares a byte is cut out")
	}
	whole, err := v.Slice()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := tensor.Decode[float32](nil, whole); err != nil || cmp.Diff(got, again) != "" {
		t.Error(again, err)
	}
}
