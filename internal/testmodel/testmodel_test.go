package testmodel

import (
	"math"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func TestSizes(t *testing.T) {
	type size struct{ Tensors, Params int }
	tests := []struct {
		name    string
		tensors []Tensor
		want    size
	}{
		{"small", Small(), size{20, 498_598}},
		{"mnist", MNIST(), size{24, 893_642}},
		{"cifar", CIFAR(), size{40, 2_200_394}},
		{"large", Large(), size{300, 24_976_800}},
		{"many", Many(), size{10_000, 640_000}},
		{"resnet50", ResNet50(), size{267, 25_557_032 + 53_120}}, // as its publishers state
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := size{Tensors: len(tt.tensors)}
			names := map[string]bool{}
			for _, s := range tt.tensors {
				got.Params += s.Len()
				if names[s.Name] || tensor.CheckName(s.Name) != nil {
					t.Errorf("name %q", s.Name)
				}
				names[s.Name] = true
				if n, err := s.Shape.ByteSize(tensor.Float32); err != nil || n != s.Info().Size {
					t.Errorf("%s: %d bytes for %v", s.Name, s.Info().Size, s.Shape)
				}
			}
			expect.Equal(t, tt.want, got)
		})
	}
}

// TestValues checks what quantization and compression depend on: each layer's distribution, and the
// same values in every run.
func TestValues(t *testing.T) {
	digests := func(ts []Tensor) map[string]uint64 {
		m := map[string]uint64{}
		for _, x := range ts {
			m[x.Name] = xxhash.Sum64(x.Bytes())
		}
		return m
	}
	if d := cmp.Diff(digests(MNIST()), digests(MNIST())); d != "" {
		t.Fatalf("two runs differ:\n%s", d)
	}
	for _, x := range append(MNIST(), CIFAR()...) {
		if len(x.Shape) < 2 {
			continue
		}
		var sum, squares float64
		for _, f := range x.Data() {
			sum += float64(f)
			squares += float64(f) * float64(f)
		}
		n := float64(x.Len())
		std := math.Sqrt(squares / n)
		he := math.Sqrt(2 / (n / float64(x.Shape[0])))
		if std < he*0.8 || std > he*1.25 || math.Abs(sum/n) > 6*std/math.Sqrt(n) {
			t.Errorf("%s: mean %g, standard deviation %g, want about %g", x.Name, sum/n, std, he)
		}
	}
	for _, x := range MNIST() {
		if x.Name == "bn1.running_var" {
			for _, f := range x.Data() {
				if f <= 0 {
					t.Errorf("variance %g", f)
				}
			}
		}
	}
}

// TestQuantized checks the error bounds of quantization on the models.
func TestQuantized(t *testing.T) {
	for _, x := range append(MNIST(), CIFAR()...) {
		values := x.Data()
		for _, dt := range []tensor.DType{tensor.Int8, tensor.Int16} {
			_, _, one, err := tensor.Quantize(values, x.Shape, tensor.QuantizeOptions{DType: dt})
			expect.OK(t, err)
			data, q, each, err := tensor.Quantize(values, x.Shape, tensor.QuantizeOptions{DType: dt, PerChannel: true})
			expect.OK(t, err)
			if each.SNR < one.SNR {
				t.Errorf("%s %v: %.2f dB per channel, %.2f dB per tensor", x.Name, dt, each.SNR, one.SNR)
			}
			back := make([]float32, x.Len())
			if err := tensor.Dequantize(back, data, dt, x.Shape, q); err != nil {
				t.Fatal(err)
			}
			per := len(back) / len(q.Scales)
			for i, f := range back {
				s, want := q.Scales[i/per], float64(values[i])
				// The exact value is rounded to float32 too.
				if bound := float64(s)/2 + math.Abs(want)*0x1p-23; math.Abs(float64(f)-want) > bound {
					t.Fatalf("%s %v: %g came back as %g, scale %g", x.Name, dt, values[i], f, s)
				}
			}
		}
	}
}
