package mag

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// write returns the file of a schema.
func write(t testing.TB, p *schema.Schema, o *format.WriteOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := newWriter(&out, p, o)
	expect.OK(t, err)
	for _, info := range p.Tensors {
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(formattest.Fill(info))))
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}

// one returns a schema with one tensor "w".
func one(d tensor.DType, dims ...int64) *schema.Schema {
	return &schema.Schema{Tensors: []tensor.Info{{Name: "w", DType: d, Shape: dims}}}
}

// named returns a schema of tensors of one byte with the given names.
func named(names ...string) *schema.Schema {
	p := &schema.Schema{}
	for _, name := range names {
		p.Tensors = append(p.Tensors, tensor.Info{Name: name, DType: tensor.Bool, Shape: tensor.Shape{1}})
	}
	return p
}

// numbered returns a schema of n tensors.
func numbered(n int) *schema.Schema {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return named(names...)
}

func withMetadata(p *schema.Schema, m ...schema.Entry) *schema.Schema {
	p.Metadata = m
	return p
}

func TestRefusedSchemas(t *testing.T) {
	f32 := func(dims ...int64) *schema.Schema { return one(tensor.Float32, dims...) }
	snap := &format.WriteOptions{Format: Format{Snapshot: true}}
	early := &format.WriteOptions{Time: time.Unix(-1, 0), Format: Format{Snapshot: true}}
	for _, c := range []struct {
		name   string
		schema *schema.Schema
		o      *format.WriteOptions
		err    error
		text   string // part of the message
	}{
		{"extended dtype", one(tensor.BFloat16, 2), nil, format.ErrUnsupported, "without extended dtypes"},
		{"rank 0", f32(), nil, format.ErrUnsupported, "no scalars"},
		{"rank 256", f32(slices.Repeat([]int64{1}, 256)...), nil, format.ErrUnsupported, "rank 256"},
		{"dim 0", f32(2, 0), nil, format.ErrUnsupported, "no elements"},
		{"key too long", named(strings.Repeat("k", maxKey+1)), nil, format.ErrLimit, "65536 bytes"},
		{"metadata string", withMetadata(f32(1), schema.Entry{Key: "a", Value: "s"}), nil, format.ErrUnsupported, "a string; MAG has int64"},
		{"metadata number, trailing 0", withMetadata(f32(1), schema.Entry{Key: "a", Value: json.Number("0.10")}), nil, format.ErrUnsupported, "MAG"},
		{"metadata number, leading 0", withMetadata(f32(1), schema.Entry{Key: "a", Value: json.Number("007")}), nil, format.ErrUnsupported, "MAG"},
		{"metadata number, large", withMetadata(f32(1), schema.Entry{Key: "a", Value: json.Number("18446744073709551615")}), nil, format.ErrUnsupported, "MAG"},
		{"metadata key empty", withMetadata(f32(1), schema.Entry{Value: int64(1)}), nil, format.ErrCorrupt, "empty"},
		{"metadata key twice", withMetadata(f32(1), schema.Entry{Key: "a", Value: int64(1)}, schema.Entry{Key: "a", Value: 2.5}), nil, format.ErrCorrupt, "twice"},
		{"own digest", withMetadata(f32(1), schema.Entry{Key: "xxh64/w", Value: int64(1)}), nil, format.ErrUnsupported, "digest of a tensor"},
		{"own digest, digests off", withMetadata(f32(1), schema.Entry{Key: "xxh64/w", Value: int64(1)}), &format.WriteOptions{Format: Format{NoDigests: true}}, format.ErrUnsupported, "digest of a tensor"},
		{"key of a digest", withMetadata(f32(1), schema.Entry{Key: "xxh64/w", Value: 2.5}), nil, format.ErrUnsupported, "has this key"},
		{"graph", &schema.Schema{Graph: &schema.Graph{Name: "g"}}, nil, format.ErrUnsupported, "graph"},
		{"name twice", named("w", "w"), nil, format.ErrSchema, "two tensors"},

		{"snapshot metadata", withMetadata(f32(1), schema.Entry{Key: "a", Value: int64(1)}), snap, format.ErrUnsupported, "metadata"},
		{"snapshot rank 17", f32(slices.Repeat([]int64{1}, 17)...), snap, format.ErrUnsupported, "rank 17"},
		{"snapshot too early", f32(1), early, format.ErrUnsupported, "1970"},
		{"snapshot too many", numbered(65535), snap, format.ErrLimit, "65535 tensors"},
		{"snapshot names too long", named(strings.Repeat("k", snapMaxBlob+1)), snap, format.ErrLimit, "bytes of names"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := newWriter(&out, c.schema, c.o)
			if !errors.Is(err, format.ErrSchema) || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) || out.Len() > 0 {
				t.Errorf("%.300v; want %v, %v, %q", err, format.ErrSchema, c.err, c.text)
			}
		})
	}
	expect.Refused(t, format.ErrOption, "no form 9")(newWriter(io.Discard, f32(1), &format.WriteOptions{Format: Format{Checksum: 9}}))
}

// TestPoolPadding checks the string that aligns the data of a snapshot.
func TestPoolPadding(t *testing.T) {
	// A descriptor of rank 1 and its offset in the pool take 36 bytes plus the name.
	for _, c := range []struct {
		name   string
		schema *schema.Schema
		pad    int // -1: none
		base   int64
	}{
		{"some", named("a"), 31, 128},
		{"none needed", named(strings.Repeat("k", 36)), -1, 128},
		{"only its offset would fit", named(strings.Repeat("k", 32)), 64, 192},
		{"a tensor has its name", named(strings.Repeat("-", 16)), 16 + 64, 192},
		{"the pool is full", numbered(snapMaxStrings), -1, 0},
		{"no tensors", &schema.Schema{}, -1, 56},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := write(t, c.schema, &format.WriteOptions{Format: Format{Snapshot: true}})
			f, err := openBytes(b, nil)
			expect.OK(t, err)
			strings := int(binary.LittleEndian.Uint32(b[36:]))
			ends := b[40:] // the offsets of the pool
			pad := -1
			if strings > f.Len() {
				pad = int(binary.LittleEndian.Uint32(ends[4*strings:]) - binary.LittleEndian.Uint32(ends[4*strings-4:]))
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
	numbers, want := &schema.Schema{}, schema.Metadata{}
	for in, out := range map[json.Number]any{
		"7": int64(7), "-9223372036854775808": int64(math.MinInt64), "0.1": 0.1, "5.0": 5.0, "1e+300": 1e300,
	} {
		numbers.Metadata = append(numbers.Metadata, schema.Entry{Key: in.String(), Value: in})
		want = append(want, schema.Entry{Key: in.String(), Value: out})
	}
	f, err := openBytes(write(t, numbers, nil), nil)
	expect.OK(t, err)
	defer f.Close()
	expect.Equal(t, want, expect.Got(t, f.Metadata))
}

// TestOptions checks that options that MAG lacks are refused by name.
func TestOptions(t *testing.T) {
	s := named("w")
	for field, o := range map[string]format.WriteOptions{
		"Compression":  {Compression: "zstd"},
		"Level":        {Level: 1},
		"Key":          {Key: make([]byte, 32)},
		"Signer":       {Signer: ed25519.NewKeyFromSeed(make([]byte, 32))},
		"Align":        {Align: 128},
		"ExternalFrom": {ExternalFrom: 1},
		"External":     {External: "data"},
	} {
		var e *tensor.Error
		_, err := newWriter(io.Discard, s, &o)
		if !errors.Is(err, format.ErrOption) || !errors.As(err, &e) || e.Field != field {
			t.Errorf("%v, want ErrOption for %s", err, field)
		}
	}
	for _, align := range []int64{64, 16} {
		o := &format.WriteOptions{Align: align}
		w, err := newWriter(io.Discard, s, o)
		expect.OK(t, err)
		w.Abort()
		o.Format = Format{Snapshot: true}
		expect.Refused(t, format.ErrOption, "a snapshot")(newWriter(io.Discard, s, o))
	}
}
