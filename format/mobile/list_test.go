package mobile

import (
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

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
		must(t, err)
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
