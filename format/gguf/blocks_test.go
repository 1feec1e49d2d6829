package gguf

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestKnownBlocks has blocks that were computed by hand.
func TestKnownBlocks(t *testing.T) {
	one, two := "\x00\x3c", "\x00\x40" // float16 1 and 2
	pad := func(s string, n int) string { return s + string(make([]byte, n-len(s))) }
	for _, c := range []struct {
		name  string
		block string
		want  map[int]float32 // some elements
	}{
		{"Q4_0", pad(two+"\x0f\xf0", 18), map[int]float32{0: 14, 1: -16, 16: -16, 17: 14, 2: -16}},
		{"Q4_1", pad(two+one+"\x21", 20), map[int]float32{0: 3, 16: 5, 1: 1}},
		{"Q5_0", pad(one+"\x01\x00\x02\x00\x21", 22), map[int]float32{0: 1, 16: -14, 17: 0, 1: -16}},
		{"Q5_1", pad(one+two+"\x01\x00\x02\x00\x21", 24), map[int]float32{0: 19, 16: 4, 17: 18, 1: 2}},
		{"Q8_0", pad(two+"\x7f\x80\xff", 34), map[int]float32{0: 254, 1: -256, 2: -2, 3: 0}},
		{"Q2_K", pad("\x53\x00\x21", 16) + pad("\x27", 64) + one + two, map[int]float32{0: 3*3 - 5*2, 1: -10, 32: 1 - 4, 64: 0, 16: 0}},
		{"Q3_K", pad("\x01", 32) + pad("\x03", 64) + pad("\x01\x00\x00\x00\x00\x00\x00\x00\x03", 12) + one, map[int]float32{0: 17 * 3, 1: 17 * -4, 32: -32 * -4}},
		{"Q4_K", one + two + "\x42\x00\x00\x00\x81\x00\x00\x00\x32\x00\x00\x00" + pad("\x5a", 128), map[int]float32{0: 2*10 - 2, 1: -2, 32: 0, 128: -2 * (3 + 32)}},
		{"Q5_K", one + two + "\x42\x00\x00\x00\x81\x00\x00\x00\x32\x00\x00\x00" + pad("\x11", 32) + pad("\x5a", 128), map[int]float32{0: 2*26 - 2, 1: -2, 128: (2+16)*16 - 2*(3+32), 129: -70}},
		{"Q6_K", pad("\x5a", 128) + pad("\x31", 64) + pad("\x02\x00\x00\x00\xff", 16) + two, map[int]float32{0: 2 * 2 * (10 + 16 - 32), 1: 4 * -32, 64: -2 * (5 + 48 - 32), 65: 64}},
	} {
		found := false
		for _, e := range elementTypes {
			if e.encoding == nil || e.encoding.Name != c.name {
				continue
			}
			found = true
			dst := make([]float32, e.encoding.BlockElems)
			if err := e.encoding.Decode(dst, []byte(c.block)); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			got := map[int]float32{}
			for i := range c.want {
				got[i] = dst[i]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
		}
		if !found {
			t.Errorf("no type is called %s", c.name)
		}
	}
}

// TestQuantize: a file of blocks says which version they have.
func TestQuantize(t *testing.T) {
	data, _, _, err := tensor.Quantize(make([]float32, 96), tensor.Shape{1, 96}, tensor.QuantizeOptions{Encoding: Q8_0()})
	if err != nil {
		t.Fatal(err)
	}
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "w", Encoding: Q8_0(), Shape: tensor.Shape{1, 96}}}}
	m := open(t, write(t, plan, nil, map[string][]byte{"w": data}))
	if v, ok := m.Value("general.quantization_version"); !ok || v != uint32(2) {
		t.Error(v, ok)
	}
}

// TestQuantizeRefused: rows that are no whole blocks, and bytes that do not fit.
func TestQuantizeRefused(t *testing.T) {
	for _, shape := range []tensor.Shape{{33}, {2, 16}, {}} {
		n, _ := shape.Elems()
		if _, _, _, err := tensor.Quantize(make([]float32, n), shape, tensor.QuantizeOptions{Encoding: Q8_0()}); !errors.Is(err, format.ErrShape) {
			t.Errorf("%v: %v", shape, err)
		}
	}
	if _, err := tensor.NewQuantizer(tensor.Shape{32}, tensor.QuantizeOptions{Encoding: elementTypes[2].encoding}); !errors.Is(err, format.ErrDType) {
		t.Error(err)
	}
	for _, n := range []int{0, 33, 35, 68} {
		if err := Q8_0().Encode(make([]byte, n), make([]float32, 32)); !errors.Is(err, format.ErrShape) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestQuantizeBlock is a block byte by byte: 127 and -63.5 with a scale of 1, and
// halves rounded away from zero.
func TestQuantizeBlock(t *testing.T) {
	x := append([]float32{127, -63.5, 0.5, -0.5, 0.49, 1.5, 2.5, -127}, make([]float32, 24)...)
	got := make([]byte, 34)
	err := Q8_0().Encode(got, x)
	want := append([]byte{0x00, 0x3c, 127, 0xc0, 1, 0xff, 0, 2, 3, 0x81}, make([]byte, 24)...)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(-1)), 1e30} {
		x[10] = bad
		if err := Q8_0().Encode(got, x); !errors.Is(err, format.ErrQuantization) {
			t.Errorf("%v is quantized", bad)
		}
	}
	clear(x)
	x[0] = 1e-44 // its inverse is infinite
	if err = Q8_0().Encode(got, x); err != nil || cmp.Diff(make([]byte, 34), got) != "" {
		t.Errorf("% x, %v", got, err)
	}
}
