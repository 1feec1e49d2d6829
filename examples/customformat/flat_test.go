package flat

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// record is a record of a file, which may be invalid.
type record struct {
	dtype, rank uint8
	nameLen     uint16
	sum         uint32
	offset      uint64
	dims        []uint64
	name        string
}

// image is a file, field by field.
type image struct {
	magic     string
	count     uint32
	sum, size uint32
	records   []record
	tail      []byte
	fixed     bool // leave checksum and size unchanged
}

// bytes returns the file.
func (m *image) bytes() []byte {
	var rec []byte
	for _, r := range m.records {
		rec = le.AppendUint16(append(rec, r.dtype, r.rank), r.nameLen)
		rec = le.AppendUint64(le.AppendUint32(rec, r.sum), r.offset)
		for _, d := range r.dims {
			rec = le.AppendUint64(rec, d)
		}
		rec = append(rec, r.name...)
	}
	if !m.fixed {
		m.sum, m.size = tensor.CRC32(rec), uint32(len(rec))
	}
	b := le.AppendUint32([]byte(m.magic), m.count)
	b = append(le.AppendUint32(le.AppendUint32(b, m.sum), m.size), rec...)
	return append(b, m.tail...)
}

// values is the data of tensor "a" in a valid file, four int8; "b" is empty.
var values = []byte{1, 2, 3, 4}

// with returns a valid file of two tensors, modified by change.
func with(change func(m *image)) []byte {
	m := &image{magic: "FLAT", count: 2, records: []record{
		{dtype: 3, rank: 2, nameLen: 1, sum: tensor.CRC32(values), offset: 128, dims: []uint64{2, 2}, name: "a"},
		{dtype: 0, rank: 1, nameLen: 1, offset: 192, dims: []uint64{0}, name: "b"},
	}}
	// The header has 16 bytes, the records 16+16+1 and 16+8+1: the data is at 128.
	m.tail = append(make([]byte, 128-16-33-25), values...)
	m.tail = append(m.tail, make([]byte, 60)...)
	change(m)
	return m.bytes()
}

// sampleSchema returns the content of that file.
func sampleSchema() *schema.Schema {
	return &schema.Schema{Tensors: []tensor.Info{
		{Name: "a", DType: tensor.Int8, Shape: tensor.Shape{2, 2}}, {Name: "b", DType: tensor.Float32, Shape: tensor.Shape{0}},
	}}
}

// malformed are files that must not open.
var malformed = []formattest.File{
	{Name: "only the magic", Bytes: []byte("FLAT"), Want: format.ErrTruncated},
	{Name: "no records", Bytes: with(func(m *image) { m.fixed, m.size, m.records, m.tail = true, 58, nil, nil }), Want: format.ErrTruncated},
	{Name: "other magic", Bytes: with(func(m *image) { m.magic = "flat" }), Want: format.ErrMagic},
	{Name: "more tensors than records", Bytes: with(func(m *image) { m.count = 3 }), Want: format.ErrCorrupt, Field: "record"},
	{Name: "most tensors", Bytes: with(func(m *image) { m.count = math.MaxUint32 }), Want: format.ErrLimit, Field: "count"},
	{Name: "fewer tensors than records", Bytes: with(func(m *image) { m.count = 1 }), Want: format.ErrCorrupt, Field: "size"},
	{Name: "wrong sum of the records", Bytes: with(func(m *image) { m.fixed, m.sum, m.size = true, 1, 58 }), Want: format.ErrChecksum, Field: "sum"},
	{Name: "dtype", Bytes: with(func(m *image) { m.records[0].dtype = 6 }), Want: format.ErrUnsupported, Field: "dtype"},
	{Name: "rank beyond the records", Bytes: with(func(m *image) { m.records[1].rank = 255 }), Want: format.ErrCorrupt, Field: "record"},
	{Name: "name beyond the records", Bytes: with(func(m *image) { m.records[1].nameLen = 2 }), Want: format.ErrCorrupt, Field: "record"},
	{Name: "negative dim", Bytes: with(func(m *image) { m.records[0].dims[1] = math.MaxUint64 }), Want: format.ErrCorrupt, Field: "dims"},
	{Name: "dims overflow", Bytes: with(func(m *image) { m.records[0].dims = []uint64{1 << 32, 1 << 32} }), Want: format.ErrCorrupt, Field: "dims"},
	{Name: "data beyond the end", Bytes: with(func(m *image) { m.records[0].dims[0] = 1000 }), Want: format.ErrCorrupt, Field: "offset"},
	{Name: "empty tensor beyond the end", Bytes: with(func(m *image) { m.tail = m.tail[:len(m.tail)-60] }), Want: format.ErrCorrupt, Field: "offset"},
	{Name: "misplaced data", Bytes: with(func(m *image) { m.records[0].offset = 64 }), Want: format.ErrCorrupt, Field: "offset"},
	{Name: "negative offset", Bytes: with(func(m *image) { m.records[0].offset = 1 << 63 }), Want: format.ErrCorrupt, Field: "offset"},
	{Name: "no name", Bytes: with(func(m *image) { m.records[0].nameLen, m.records[0].name = 0, "" }), Want: format.ErrCorrupt, Field: "name"},
	{Name: "NUL as a name", Bytes: with(func(m *image) { m.records[0].name = "\x00" }), Want: format.ErrCorrupt, Field: "name"},
	{Name: "name twice", Bytes: with(func(m *image) { m.records[1].name = "a" }), Want: format.ErrCorrupt, Field: "name"},
	{Name: "bytes behind the data", Bytes: with(func(m *image) { m.tail = append(m.tail, 0) }), Want: format.ErrCorrupt, Field: "size"},
}

// structural returns the ranges that checksums or rules cover: all but the padding.
func structural(b []byte) []formattest.Range {
	m, err := format.OpenBytes(b, nil)
	if err != nil {
		panic(err)
	}
	defer m.Close()
	covered := []formattest.Range{{From: 0, To: headerSize + int(m.Own().(*file).records.Ranges[0].Size)}}
	for _, v := range m.Tensors() {
		t := v.Info()
		covered = append(covered, formattest.Range{From: int(t.Offset), To: int(t.Offset + t.Size)})
	}
	return covered
}

func TestConformance(t *testing.T) {
	long := &schema.Schema{}
	for i, d := range dtypes {
		long.Tensors = append(long.Tensors, tensor.Info{Name: fmt.Sprintf("%s.%d", strings.Repeat("layer.", 10), i), DType: d, Shape: tensor.Shape{int64(i), 3}})
	}
	intact := formattest.File{Name: "by hand", Bytes: with(func(*image) {}), Schema: sampleSchema(), Data: map[string][]byte{"a": values, "b": {}}}
	damaged := formattest.File{Name: "damaged data", Bytes: with(func(m *image) { m.records[0].sum++ }), VerifyErr: format.ErrChecksum}
	formattest.Run(t, formattest.Config{
		Format:   Format{},
		ZeroCopy: true,
		Align:    alignment,
		Samples: []formattest.Sample{
			{Name: "nothing", Schema: &schema.Schema{}, Structural: structural},
			{Name: "small", Schema: sampleSchema(), Structural: structural},
			{Name: "all dtypes", Schema: long, Structural: structural},
		},
		Files: append(malformed, intact, damaged),
	})
}

// TestBytes checks that the writer produces the layout in the package comment, and that package
// format detects it.
func TestBytes(t *testing.T) {
	var out bytes.Buffer
	w, err := format.NewWriter(&out, sampleSchema(), &format.WriteOptions{Format: Format{}})
	must(t, err)
	for _, name := range []string{"b", "a"} {
		must(t, w.WriteTensor(name, bytes.NewReader(map[string][]byte{"a": values}[name])))
	}
	must(t, w.Close())
	if d := cmp.Diff(with(func(*image) {}), out.Bytes()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	m, err := format.OpenBytes(out.Bytes(), nil)
	must(t, err)
	defer m.Close()
	if c, err := m.Verify(t.Context(), nil); err != nil || m.Format() != "flat" || c.String() != "ok" {
		t.Errorf("%s: %v, %v", m.Format(), c, err)
	}
}

// TestRefusals checks that schemas the format cannot store are refused before anything is written.
func TestRefusals(t *testing.T) {
	one := func(change func(*tensor.Info)) *schema.Schema {
		i := tensor.Info{Name: "a", DType: tensor.Int8, Shape: tensor.Shape{1}}
		change(&i)
		return &schema.Schema{Tensors: []tensor.Info{i}}
	}
	tests := []struct {
		name   string
		schema *schema.Schema
		kind   schema.LossKind // "" if only the layout refuses it
	}{
		{"dtype", one(func(i *tensor.Info) { i.DType = tensor.Float64 }), schema.LossDType},
		{"quantization", one(func(i *tensor.Info) { i.Quant = &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{1}} }), schema.LossQuantization},
		{"metadata", &schema.Schema{Metadata: schema.Metadata{{Key: "a", Value: true}}}, schema.LossMetadata},
		{"graph", &schema.Schema{Graph: &schema.Graph{Name: "g"}}, schema.LossGraph},
		{"rank", one(func(i *tensor.Info) { i.Shape = make(tensor.Shape, 256) }), ""},
		{"name", one(func(i *tensor.Info) { i.Name = strings.Repeat("n", 1<<16) }), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := format.NewWriter(&out, tt.schema, &format.WriteOptions{Format: Format{}})
			if !errors.Is(err, format.ErrSchema) || out.Len() > 0 {
				t.Fatalf("%v after %d bytes, want ErrSchema", err, out.Len())
			}
			var kind schema.LossKind
			if e := (*schema.LossError)(nil); errors.As(err, &e) {
				kind = e.Losses[0].Kind
			}
			if d := cmp.Diff(tt.kind, kind); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// TestPublicOnly checks that a format in another module needs only three public packages.
func TestPublicOnly(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must(t, err)
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		must(t, err)
		for _, i := range f.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); strings.Contains(path, ".") {
				used[path] = true
			}
		}
	}
	const module = "github.com/weightmap/weightmap/"
	if d := cmp.Diff(map[string]bool{module + "format": true, module + "format/driver": true, module + "format/schema": true, module + "tensor": true}, used); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
