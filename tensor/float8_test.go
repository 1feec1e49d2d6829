package tensor

import (
	"math"
	"testing"
)

// TestFloat8 compares with values from the tables of "FP8 Formats for Deep
// Learning": largest, smallest normal and subnormal, specials, both signs.
func TestFloat8(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		dtype DType
		bits  byte
		want  float32
	}{
		{Float8E4M3FN, 0x00, 0}, {Float8E4M3FN, 0x01, 0x1p-9}, {Float8E4M3FN, 0x07, 0x1.cp-7}, {Float8E4M3FN, 0x08, 0x1p-6},
		{Float8E4M3FN, 0x38, 1}, {Float8E4M3FN, 0x3C, 1.5}, {Float8E4M3FN, 0x7E, 448}, {Float8E4M3FN, 0x78, 256}, {Float8E4M3FN, 0x7F, nan},
		{Float8E4M3FN, 0xB8, -1}, {Float8E4M3FN, 0xFE, -448}, {Float8E4M3FN, 0xFF, nan},
		{Float8E5M2, 0x00, 0}, {Float8E5M2, 0x01, 0x1p-16}, {Float8E5M2, 0x03, 0x1.8p-15}, {Float8E5M2, 0x04, 0x1p-14},
		{Float8E5M2, 0x3C, 1}, {Float8E5M2, 0x7B, 57344}, {Float8E5M2, 0x7C, inf}, {Float8E5M2, 0x7D, nan}, {Float8E5M2, 0xFC, -inf}, {Float8E5M2, 0xBC, -1},
	} {
		v, err := FromBytes("t", tt.dtype, Shape{1}, []byte{tt.bits})
		if err != nil {
			t.Fatal(err)
		}
		single, err := Decode[float32](nil, v)
		if err != nil {
			t.Fatal(err)
		}
		double, err := Decode[float64](nil, v)
		if err != nil {
			t.Fatal(err)
		}
		same := single[0] == tt.want || single[0] != single[0] && tt.want != tt.want
		if !same || float32(double[0]) != single[0] && tt.want == tt.want {
			t.Errorf("%v %#02x: %v and %v, want %v", tt.dtype, tt.bits, single[0], double[0], tt.want)
		}
		if raw, err := As[uint8](v); err != nil || raw[0] != tt.bits {
			t.Errorf("%v %#02x viewed: %v, %v", tt.dtype, tt.bits, raw, err)
		}
	}
	for _, d := range []DType{Float8E4M3FN, Float8E5M2} {
		v, _ := FromBytes("t", d, Shape{2}, []byte{0x80, 0})
		got, _ := Decode[float32](nil, v)
		if !math.Signbit(float64(got[0])) || math.Signbit(float64(got[1])) {
			t.Errorf("%v: zeros are %v", d, got)
		}
	}
}
