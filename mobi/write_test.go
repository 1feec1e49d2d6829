package mobi

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// fileDTypes are the element types of MOBI.
var fileDTypes = dtypes[:]

// written returns the file of a schema, with the data of formattest.Fill.
func written(t *testing.T, p *schema.Schema, o *format.WriteOptions) []byte {
	t.Helper()
	return writtenBy(t, p, o, formattest.Fill)
}

func writtenBy(t *testing.T, p *schema.Schema, o *format.WriteOptions, fill func(tensor.Info) []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := newWriter(&out, p, inMemory(o))
	expect.OK(t, err)
	for _, info := range p.Tensors {
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(fill(info))))
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}

// inMemory sets options that make tests fast and repeatable.
func inMemory(o *format.WriteOptions) *format.WriteOptions {
	var c format.WriteOptions
	if o != nil {
		c = *o
	}
	c.Spool = format.SpoolMemory
	if c.Time.IsZero() {
		c.Time = time.Unix(1_700_000_000, 0)
	}
	return &c
}

// TestWriteGolden compares a written file with one built by hand, for both footers:
// order of the constants, padding, added parameters, flags and checksums.
func TestWriteGolden(t *testing.T) {
	constants := []tensor.View{
		constant(t, 1, tensor.Int8, tensor.Shape{3}, []byte{1, 2, 3}, &tensor.Quantization{Axis: 0, Scales: []float32{1, 2, 3}, ZeroPoints: []int32{0, 0, 1}}),
		constant(t, 2, tensor.Float16, tensor.Shape{3}, []byte{1, 2, 3, 4, 5, 6}, nil),
		constant(t, 3, tensor.Int32, tensor.Shape{}, i32s(-9), nil),
		constant(t, 4, tensor.Float32, tensor.Shape{1, 2}, f32s(1, 2), nil),
		constant(t, 5, tensor.Int8, tensor.Shape{1}, []byte{7}, &tensor.Quantization{Axis: -1, Scales: []float32{0.5}}),
		constant(t, 0, tensor.Int16, tensor.Shape{0}, nil, nil),
	}
	f := Format{
		FrameworkVersion: 7,
		Flags:            FlagOptimized,
	}
	g := &schema.Graph{
		Inputs: []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(schema.DynamicDim, 3)}},
		Outputs: []schema.ValueInfo{
			{Name: "y", DType: tensor.Int16, Dims: []schema.Dim{}},
			{Name: "z", Code: "99", Dims: schema.FixedDims(0)},
		},
		Nodes: []schema.Node{
			{Op: "Conv2D", Inputs: []string{"1", "x", "1"}, Outputs: []string{"y"},
				Attributes: []schema.Attribute{{Name: "n", Value: int64(4)}, {Name: "s", Value: "é"}}},
			{Op: "500", Inputs: []string{"5"}, Outputs: []string{"z"}, Attributes: []schema.Attribute{
				{Name: "i", Value: []int64{-1}}, {Name: "b", Value: true}, {Name: "f", Value: 0.5}, {Name: "e", Value: []float32{}},
			}},
		},
	}
	at := time.Unix(1234567890, 0)
	p := &schema.Schema{Metadata: schema.Metadata{{Key: keyName, Value: "net"}}, Graph: g}
	for _, v := range constants {
		p.Tensors = append(p.Tensors, v.Info())
	}
	scales, zeros := array(f32s(1, 2, 3), 4), array(i32s(0, 0, 1), 4)
	want := &image{
		name: "net", framework: 7, created: 1234567890, flags: 7,
		inputs:  [][]byte{spec("x", 0, math.MaxUint64, 3)},
		outputs: [][]byte{spec("y", 3), spec("z", 99, 0)},
		records: [][]byte{
			recordOf(4, 0, []uint64{1, 2}, f32s(1, 2)), recordOf(0, 3, []uint64{0}, nil), recordOf(3, 4, nil, i32s(-9)),
			recordOf(2, 1, []uint64{3}, []byte{1, 2, 3, 4, 5, 6}), recordOf(1, 2, []uint64{3}, []byte{1, 2, 3}), recordOf(5, 2, []uint64{1}, []byte{7}),
		},
		ops: [][]byte{
			op(0, []uint32{1, 6, 1}, []uint32{7}, param("n", 0, i32s(4)...), param("s", 7, append(u32s(2), "é"...)...),
				param("input0_scale", 6, scales...), param("input0_zero_point", 5, zeros...), param("input0_axis", 0, i32s(0)...),
				param("input2_scale", 6, scales...), param("input2_zero_point", 5, zeros...), param("input2_axis", 0, i32s(0)...)),
			op(500, []uint32{5}, []uint32{8}, param("i", 8, append(i32s(1), u64s(math.MaxUint64)...)...), param("b", 4, 1),
				param("f", 3, u64s(math.Float64bits(0.5))...), param("e", 6, i32s(0)...), param("input0_scale", 2, f32s(0.5)...)),
		},
	}
	// 32 + 27 + 25 + 9 + 17 = 110 bytes precede the padding; the first header takes 32.
	want.pad = make([]byte, 192-32-110)
	for _, footer := range []Footer{Adler32, CRC32} {
		f.Footer = footer
		want.crc = footer == CRC32
		var got bytes.Buffer
		w, err := newWriter(&got, p, inMemory(&format.WriteOptions{Format: f, Time: at}))
		expect.OK(t, err)
		for _, v := range constants {
			expect.OK(t, w.WriteView(v))
		}
		expect.OK(t, w.Close())
		if d := cmp.Diff(want.bytes(), got.Bytes()); d != "" {
			t.Errorf("%v (-want +got)\n%s", footer, d)
		}
	}
}

func constant(t *testing.T, id uint32, d tensor.DType, shape tensor.Shape, data []byte, q *tensor.Quantization) tensor.View {
	t.Helper()
	v, err := tensor.FromInfo(tensor.Info{Name: constantName(id), DType: d, Shape: shape, Quant: q}, data)
	expect.OK(t, err)
	return v
}

// TestOrderProperty checks that uncompressed constants are aligned and viewed in
// place, and that the compressed ones, which are those that shrink, follow them.
func TestOrderProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 71))
	half := func(t tensor.Info) []byte {
		b := formattest.Fill(t)
		if n, _ := strconv.Atoi(t.Name); n%2 != 0 {
			clear(b)
		}
		return b
	}
	for level := range 60 {
		p := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: fileDTypes, Tensors: 12, Name: formattest.Decimal, Zero: true})
		o := &format.WriteOptions{Compression: "gzip", Level: level % 10, Format: Format{Footer: Footer(level % 2)}}
		f := openImage(t, writtenBy(t, p, o, half))
		packed := false
		for _, v := range f.Tensors() {
			info := v.Info()
			compressed := info.Compression != ""
			if compressed != (info.Stored < info.Size) || !compressed && (packed || v.ZeroCopy() != testhost.AsHost(info.DType.Size())) {
				t.Fatalf("constant %s: %d of %d bytes, after compressed ones %v, zero-copy %v", info.Name, info.Stored, info.Size, packed, v.ZeroCopy())
			}
			packed = packed || compressed
		}
		if first := f.At(0).Info(); first.Compression == "" && first.Offset%64 != 0 {
			t.Fatalf("the first constant lies at %d", first.Offset)
		}
		expect.OK(t, verify(t, f))
	}
}
