package mag

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// one returns a plan with one tensor "w".
func one(d tensor.DType, dims ...int64) *format.Plan {
	return &format.Plan{Tensors: []tensor.Info{{Name: "w", DType: d, Shape: dims}}}
}

func withMetadata(p *format.Plan, m ...format.Entry) *format.Plan {
	p.Metadata = m
	return p
}

func TestRefusedPlans(t *testing.T) {
	f32 := func(dims ...int64) *format.Plan { return one(tensor.Float32, dims...) }
	snap := &WriteOptions{Snapshot: true}
	early := &WriteOptions{Snapshot: true}
	early.Time = time.Unix(-1, 0)
	named := func(name string) *format.Plan {
		return &format.Plan{Tensors: []tensor.Info{{Name: name, DType: tensor.Float32, Shape: tensor.Shape{1}}}}
	}
	many := &format.Plan{}
	for i := range 65535 {
		many.Tensors = append(many.Tensors, tensor.Info{Name: strconv.Itoa(i), DType: tensor.Bool, Shape: tensor.Shape{1}})
	}
	for _, c := range []struct {
		name string
		plan *format.Plan
		o    *WriteOptions
		err  error
		text string // part of the message
	}{
		{"extended dtype", one(tensor.BFloat16, 2), nil, format.ErrUnsupported, "without extended dtypes"},
		{"extended dtype float64", one(tensor.Float64, 2), nil, format.ErrUnsupported, "without extended dtypes"},
		{"complex64", one(tensor.Complex64, 2), &WriteOptions{Extended: true}, format.ErrUnsupported, "dtype complex64"},
		{"rank 0", f32(), nil, format.ErrUnsupported, "rank 0"},
		{"rank 256", f32(slices.Repeat([]int64{1}, 256)...), nil, format.ErrUnsupported, "rank 256"},
		{"dim 0", f32(2, 0), nil, format.ErrUnsupported, "no elements"},
		{"key too long", named(strings.Repeat("k", maxKey+1)), nil, format.ErrLimit, "65536 bytes"},
		{"metadata string", withMetadata(f32(1), format.Entry{Key: "a", Value: "s"}), nil, format.ErrUnsupported, "a string; MAG has int64"},
		{"metadata bool", withMetadata(f32(1), format.Entry{Key: "a", Value: true}), nil, format.ErrUnsupported, "a bool; MAG has int64"},
		{"metadata nil", withMetadata(f32(1), format.Entry{Key: "a"}), nil, format.ErrUnsupported, "a null; MAG"},
		{"metadata key empty", withMetadata(f32(1), format.Entry{Value: int64(1)}), nil, format.ErrCorrupt, "empty"},
		{"metadata key with NUL", withMetadata(f32(1), format.Entry{Key: "a\x00", Value: int64(1)}), nil, format.ErrCorrupt, "NUL"},
		{"metadata key not UTF-8", withMetadata(f32(1), format.Entry{Key: "\xFF", Value: int64(1)}), nil, format.ErrCorrupt, "UTF-8"},
		{"metadata key too long", withMetadata(f32(1), format.Entry{Key: strings.Repeat("k", maxKey+1), Value: int64(1)}), nil, format.ErrLimit, "65536 bytes"},
		{"metadata key twice", withMetadata(f32(1), format.Entry{Key: "a", Value: int64(1)}, format.Entry{Key: "a", Value: 2.5}), nil, format.ErrCorrupt, "twice"},
		{"own digest", withMetadata(f32(1), format.Entry{Key: "xxh64/w", Value: int64(1)}), nil, format.ErrUnsupported, "digest of a tensor"},
		{"own digest, digests off", withMetadata(f32(1), format.Entry{Key: "xxh64/w", Value: int64(1)}), &WriteOptions{NoDigests: true}, format.ErrUnsupported, "digest of a tensor"},
		{"key of a digest", withMetadata(f32(1), format.Entry{Key: "xxh64/w", Value: 2.5}), nil, format.ErrUnsupported, "has this key"},
		{"graph", &format.Plan{Graph: &format.Graph{Name: "g"}}, nil, format.ErrUnsupported, "graph"},
		{"unknown checksum", f32(1), &WriteOptions{Checksum: 9}, format.ErrUnsupported, "no form 9"},
		{"name twice", &format.Plan{Tensors: append(f32(1).Tensors, f32(2).Tensors...)}, nil, format.ErrCorrupt, "twice"},

		{"snapshot metadata", withMetadata(f32(1), format.Entry{Key: "a", Value: int64(1)}), snap, format.ErrUnsupported, "metadata"},
		{"snapshot float64", one(tensor.Float64, 1), snap, format.ErrUnsupported, "dtype float64"},
		{"snapshot complex64", one(tensor.Complex64, 1), snap, format.ErrUnsupported, "dtype complex64"},
		{"snapshot rank 17", f32(slices.Repeat([]int64{1}, 17)...), snap, format.ErrUnsupported, "rank 17"},
		{"snapshot dim 0", f32(0), snap, format.ErrUnsupported, "no elements"},
		{"snapshot too early", f32(1), early, format.ErrUnsupported, "1970"},
		{"snapshot too many", many, snap, format.ErrLimit, "65535 tensors"},
		{"snapshot names too long", named(strings.Repeat("k", snapMaxBlob+1)), snap, format.ErrLimit, "bytes of names"},
		{"snapshot graph", &format.Plan{Graph: &format.Graph{Name: "g"}}, snap, format.ErrUnsupported, "graph"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := NewWriter(&out, c.plan, c.o)
			if !errors.Is(err, format.ErrPlan) || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) || out.Len() > 0 {
				t.Errorf("%.300v; want %v, %v, %q", err, format.ErrPlan, c.err, c.text)
			}
		})
	}
}

// TestPoolPadding checks the string that aligns the data of a snapshot.
func TestPoolPadding(t *testing.T) {
	info := func(name string) tensor.Info {
		return tensor.Info{Name: name, DType: tensor.Bool, Shape: tensor.Shape{1}}
	}
	full := &format.Plan{}
	for i := range snapMaxStrings {
		full.Tensors = append(full.Tensors, info(strconv.Itoa(i)))
	}
	// A descriptor of rank 1 and its offset in the pool take 36 bytes plus the name.
	for _, c := range []struct {
		name string
		plan *format.Plan
		pad  int // -1: none
		base int64
	}{
		{"some", &format.Plan{Tensors: []tensor.Info{info("a")}}, 31, 128},
		{"none needed", &format.Plan{Tensors: []tensor.Info{info(strings.Repeat("k", 36))}}, -1, 128},
		{"only its offset would fit", &format.Plan{Tensors: []tensor.Info{info(strings.Repeat("k", 32))}}, 64, 192},
		{"a tensor has its name", &format.Plan{Tensors: []tensor.Info{info(strings.Repeat("-", 16))}}, 16 + 64, 192},
		{"the pool is full", full, -1, 0},
		{"no tensors", nil, -1, 56},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := map[string][]byte{}
			if c.plan != nil {
				for _, i := range c.plan.Tensors {
					data[i.Name] = []byte{1}
				}
			}
			b := write(t, c.plan, data, nil, &WriteOptions{Snapshot: true})
			f, err := OpenBytes(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			strings, pad := int(u32(b, 36)), -1
			if strings > f.Len() {
				pad = int(u32(b, 40+4*strings) - u32(b, 40+4*strings-4))
			}
			if pad != c.pad || c.base > 0 && f.f.end != c.base {
				t.Errorf("padding %d, data at %d; want %d, %d", pad, f.f.end, c.pad, c.base)
			}
		})
	}
}

// TestNumberMetadata checks that a json.Number is written as an int64 or float64 if
// that has the same value.
func TestNumberMetadata(t *testing.T) {
	for _, c := range []struct {
		in   json.Number
		want any // nil is refused
	}{
		{"7", int64(7)}, {"-9223372036854775808", int64(math.MinInt64)}, {"0.1", 0.1}, {"5.0", 5.0}, {"1e+300", 1e300},
		{"0.10", nil}, {"007", nil}, {"18446744073709551615", nil},
	} {
		var out bytes.Buffer
		w, err := NewWriter(&out, withMetadata(&format.Plan{}, format.Entry{Key: "n", Value: c.in}), nil)
		if c.want == nil {
			if !errors.Is(err, format.ErrUnsupported) {
				t.Errorf("%s: %v", c.in, err)
			}
			continue
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		f, err := OpenBytes(out.Bytes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(format.Metadata{{Key: "n", Value: c.want}}, f.Metadata()); diff != "" {
			t.Error(diff)
		}
		f.Close()
	}
}
