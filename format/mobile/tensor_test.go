package mobile

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// kinds returns a model with tensors of all kinds.
func kinds(t *testing.T) *Model {
	t.Helper()
	channels := &tensor.Quantization{Scales: []float32{0.5, 2}, ZeroPoints: []int32{1, -1}, Axis: 1}
	m, _ := newFake(t,
		part{name: "plain", dtype: tensor.Float32, shape: tensor.Shape{2, 3}, data: floats(1, -2, 3, -4, 5, 0.25)},
		part{name: "scalar", dtype: tensor.Float32, data: floats(42)},
		part{name: "empty", dtype: tensor.Int8, shape: tensor.Shape{0, 4}, data: []byte{}},
		part{name: "half", dtype: tensor.Float16, shape: tensor.Shape{2}, data: []byte{0, 0x3c, 0, 0xc0}}, // 1, -2
		part{name: "lazy", dtype: tensor.Float32, shape: tensor.Shape{3}, data: floats(7, 8, 9), lazy: true},
		part{name: "skew", dtype: tensor.Int32, shape: tensor.Shape{2}, data: []byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, skew: 1},
		part{name: "quant", dtype: tensor.Int8, shape: tensor.Shape{2, 2}, data: []byte{3, 4, 0xff, 0}, quant: channels},
		part{name: "complex", dtype: tensor.Complex64, shape: tensor.Shape{1}, data: floats(1, 2)},
		part{name: "unsound", dtype: tensor.Int8, shape: tensor.Shape{3}, data: []byte{1, 2, 3}, quant: &tensor.Quantization{Scales: []float32{1, 2}, Axis: 0}},
	)
	t.Cleanup(func() { m.Close() })
	return m
}

// get returns a tensor that is there.
func get(t *testing.T, m *Model, name string) *Tensor {
	t.Helper()
	x, err := m.TensorNamed(name)
	expect.OK(t, err)
	return x
}

func TestRealNumbers(t *testing.T) {
	m := kinds(t)
	for _, test := range []struct {
		name string
		want []float32
		code string
	}{
		{"plain", []float32{1, -2, 3, -4, 5, 0.25}, ""},
		{"scalar", []float32{42}, ""},
		{"empty", nil, ""},
		{"half", []float32{1, -2}, ""},
		{"lazy", []float32{7, 8, 9}, ""},
		{"skew", []float32{1, -1}, ""},
		{"quant", []float32{1, 10, -1, 2}, ""}, // (3-1)*0.5, (4+1)*2, (-1-1)*0.5, (0+1)*2
		{"complex", nil, CodeDType},
		{"unsound", nil, CodeQuantization},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := get(t, m, test.name)
			dst := make([]byte, 4*x.Len()+3)
			n, err := x.CopyFloat32To(dst)
			if got := ErrorCode(err); got != test.code {
				t.Fatalf("CopyFloat32To: code %q, want %q (%v)", got, test.code, err)
			}
			all, err := x.Float32Bytes()
			if got := ErrorCode(err); got != test.code {
				t.Fatalf("Float32Bytes: code %q, want %q (%v)", got, test.code, err)
			}
			if test.code != "" {
				if _, err := x.Float32At(0); ErrorCode(err) != test.code {
					t.Errorf("Float32At: %v, want code %q", err, test.code)
				}
				return
			}
			var one []float32
			for i := range x.Len() {
				f, err := x.Float32At(i)
				expect.OK(t, err)
				one = append(one, f)
			}
			equal(t, "Float32At", test.want, one)
			if want := floats(test.want...); !bytes.Equal(dst[:n], want) || !bytes.Equal(all, want) {
				t.Errorf("CopyFloat32To %x, Float32Bytes %x, want %x", dst[:n], all, want)
			}
		})
	}
}

func TestCopy(t *testing.T) {
	m := kinds(t)
	want := floats(1, -2, 3, -4, 5, 0.25)
	x := get(t, m, "plain")
	for _, test := range []struct {
		name string
		copy func(dst []byte) (int64, error)
		room int
		want []byte
		code string
	}{
		{"whole", x.CopyTo, 24, want, ""},
		{"room to spare", x.CopyTo, 30, want, ""},
		{"too small", x.CopyTo, 23, nil, CodeShape},
		{"nil", x.CopyTo, 0, nil, CodeShape},
		{"floats too small", x.CopyFloat32To, 23, nil, CodeShape},
		{"range", func(dst []byte) (int64, error) { return x.CopyRangeTo(dst, 4) }, 8, want[4:12], ""},
		{"range at the end", func(dst []byte) (int64, error) { return x.CopyRangeTo(dst, 20) }, 8, want[20:], ""},
		{"range of nothing", func(dst []byte) (int64, error) { return x.CopyRangeTo(dst, 24) }, 8, want[24:], ""},
		{"range before", func(dst []byte) (int64, error) { return x.CopyRangeTo(dst, -1) }, 8, nil, CodeIndex},
		{"range behind", func(dst []byte) (int64, error) { return x.CopyRangeTo(dst, 25) }, 8, nil, CodeIndex},
	} {
		t.Run(test.name, func(t *testing.T) {
			dst := make([]byte, test.room)
			n, err := test.copy(dst)
			if got := ErrorCode(err); got != test.code {
				t.Fatalf("code %q, want %q (%v)", got, test.code, err)
			}
			if !bytes.Equal(test.want, dst[:n]) {
				t.Errorf("got %x, want %x", dst[:n], test.want)
			}
		})
	}
}

func TestQuantization(t *testing.T) {
	type answer struct {
		Quantized   bool
		Scheme      string
		Axis, Count int64
		Scales      []float32 // of channels -1 to 2
		Zeros       []int32
	}
	quantized := func(q *tensor.Quantization) answer {
		m, _ := newFake(t, part{name: "q", dtype: tensor.Int8, shape: tensor.Shape{2}, data: []byte{1, 2}, quant: q})
		defer m.Close()
		x := get(t, m, "q")
		a := answer{Quantized: x.Quantized(), Scheme: x.QuantScheme(), Axis: x.QuantAxis(), Count: x.QuantCount()}
		for c := range int64(4) {
			a.Scales = append(a.Scales, x.QuantScale(c-1))
			a.Zeros = append(a.Zeros, x.QuantZeroPoint(c-1))
		}
		return a
	}
	for _, test := range []struct {
		name string
		q    *tensor.Quantization
		want answer
	}{
		{"plain", nil, answer{false, "", -1, 0, []float32{0, 0, 0, 0}, []int32{0, 0, 0, 0}}},
		{"one scale", &tensor.Quantization{Scales: []float32{0.5}, ZeroPoints: []int32{3}, Axis: tensor.PerTensor},
			answer{true, "linear", -1, 1, []float32{0, 0.5, 0, 0}, []int32{0, 3, 0, 0}}},
		{"channels", &tensor.Quantization{Scales: []float32{0.5, 2}, ZeroPoints: []int32{3, 4}, Axis: 0},
			answer{true, "linear", 0, 2, []float32{0, 0.5, 2, 0}, []int32{0, 3, 4, 0}}},
		{"one zero point for all", &tensor.Quantization{Scales: []float32{0.5, 2}, ZeroPoints: []int32{3}, Axis: 0},
			answer{true, "linear", 0, 2, []float32{0, 0.5, 2, 0}, []int32{0, 3, 3, 0}}},
		{"no zero points", &tensor.Quantization{Scheme: tensor.Logarithmic, Scales: []float32{0.5, 2}, Axis: 0},
			answer{true, "logarithmic", 0, 2, []float32{0, 0.5, 2, 0}, []int32{0, 0, 0, 0}}},
		{"unsound", &tensor.Quantization{Scales: []float32{1, 2, 4}, ZeroPoints: []int32{5, 6}, Axis: 9},
			answer{true, "linear", 9, 3, []float32{0, 1, 2, 4}, []int32{0, 5, 6, 0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			equal(t, "", test.want, quantized(test.q))
		})
	}
}

func TestBadIndices(t *testing.T) {
	m := kinds(t)
	x := get(t, m, "plain")
	for _, i := range []int64{-1, m.TensorCount(), math.MaxInt64, math.MinInt64, 1 << 32} {
		if name := m.TensorName(i); name != "" {
			t.Errorf("TensorName(%d) = %q", i, name)
		}
		if x, err := m.Tensor(i); x != nil || ErrorCode(err) != CodeIndex {
			t.Errorf("Tensor(%d) = %v, %v", i, x, err)
		}
		if dim := x.ShapeAt(i); dim != -1 {
			t.Errorf("ShapeAt(%d) = %d", i, dim)
		}
		if f, err := x.Float32At(i); f != 0 || ErrorCode(err) != CodeIndex {
			t.Errorf("Float32At(%d) = %v, %v", i, f, err)
		}
	}
	if x, err := m.TensorNamed("none"); x != nil || ErrorCode(err) != CodeNotFound {
		t.Errorf("TensorNamed = %v, %v", x, err)
	}
	if f, err := get(t, m, "empty").Float32At(0); f != 0 || ErrorCode(err) != CodeIndex {
		t.Errorf("Float32At(0) of nothing = %v, %v", f, err)
	}
}

// TestTensorList: the list says what the tensors say one by one.
func TestTensorList(t *testing.T) {
	m, _ := newFake(t,
		part{name: "plain", dtype: tensor.Float32, shape: tensor.Shape{2, 3}, data: floats(1, 2, 3, 4, 5, 6)},
		part{name: "scalar\nwith \x00 and ü", dtype: tensor.Int8, data: []byte{3}, quant: &tensor.Quantization{Scales: []float32{0.5}, Axis: tensor.PerTensor}},
		part{name: "lazy", dtype: tensor.Uint8, shape: tensor.Shape{4}, data: ramp(4), lazy: true},
		part{name: "empty", dtype: tensor.Float64, shape: tensor.Shape{0, 7}},
	)
	var all []*Tensor
	for i := range m.TensorCount() {
		x, err := m.Tensor(i)
		expect.OK(t, err)
		all = append(all, x)
	}
	for _, when := range []string{"open", "closed"} {
		list := m.TensorList()
		for _, x := range all {
			want := listed{x.Name(), x.DType(), x.Compression(), x.Shape(), x.Len(), x.ByteSize(), x.FileOffset(), x.ZeroCopy() && when == "open", x.Quantized()}
			var got listed
			got, list = readListed(t, list)
			equal(t, when, want, got)
		}
		if len(list) > 0 {
			t.Errorf("%s: %d bytes follow", when, len(list))
		}
		m.Close()
	}
	if b := new(Model).TensorList(); len(b) > 0 {
		t.Errorf("an empty model lists %d bytes", len(b))
	}
}

// listed is a tensor of a list.
type listed struct {
	Name, DType, Compression, Shape string
	Len, Size, Place                int64
	ZeroCopy, Quantized             bool
}

// readListed reads a tensor of a list as the documentation says, and returns what follows.
func readListed(t *testing.T, b []byte) (x listed, rest []byte) {
	t.Helper()
	number := func() int64 {
		if len(b) < 8 {
			t.Fatal("the list ends early")
		}
		n := int64(binary.LittleEndian.Uint64(b))
		b = b[8:]
		return n
	}
	text := func() string {
		n := number()
		s := string(b[:n])
		b = b[n:]
		return s
	}
	x.Name, x.DType, x.Compression = text(), text(), text()
	var dims []string
	for range number() {
		dims = append(dims, strconv.FormatInt(number(), 10))
	}
	x.Shape = strings.Join(dims, ",")
	x.Len, x.Size, x.Place = number(), number(), number()
	flags := number()
	x.ZeroCopy, x.Quantized = flags&1 != 0, flags&2 != 0
	return x, b
}

// TestKeys: what gobind's classes compare is equal for the same tensor, and for nothing else.
func TestKeys(t *testing.T) {
	file, _ := sample(t)
	keys := map[string]string{"": "an empty model"}
	for range 2 {
		m := openBytes(t, file)
		for what, key := range map[string]string{"model": m.Key, "fc.weight": get(t, m, "fc.weight").Key, "ids": get(t, m, "ids").Key} {
			if other, ok := keys[key]; ok {
				t.Errorf("%s and %s have the key %q", what, other, key)
			}
			keys[key] = what
		}
		if again := get(t, m, "ids").Key; keys[again] != "ids" {
			t.Errorf("the key of a tensor was another before: %q", again)
		}
	}
}
