package mobile

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// fake is a format with one file.
type fake struct {
	parts  []part
	meta   schema.Metadata
	signed *schema.Signature
	state  format.SignatureState
	sums   []driver.Sum
	data   []driver.Digest // by tensor; may be nil
}

// formatOf is the format of a driver.
type formatOf struct{ driver driver.Driver }

// Driver implements format.Format.
func (f formatOf) Driver() driver.Driver { return f.driver }

// part is a tensor of a fake.
type part struct {
	name  string
	dtype tensor.DType
	shape tensor.Shape
	data  []byte
	quant *tensor.Quantization
	lazy  bool // loaded, not in the file's bytes
	skew  int  // bytes of misalignment
	at    int  // in the file
}

func (f *fake) Describe() driver.Description { return driver.Description{Name: "fake"} }

func (f *fake) Detect([]byte, int64) bool { return true }

func (f *fake) Parse(_ driver.Source, x *driver.Index, _ *driver.ParseOptions) (*driver.Parsed, error) {
	x.Version = "7"
	for _, p := range f.parts {
		in := &driver.Tensor{
			Name: []byte(p.name), DType: p.dtype, Shape: p.shape, Quant: p.quant,
			Offset: int64(p.at), Size: int64(len(p.data)), Loaded: p.lazy,
		}
		if p.lazy {
			in.Offset, in.Stored, in.Compression = -1, 1, "gzip"
		}
		x.Add(in)
	}
	return &driver.Parsed{
		LazyMetadata: func() (schema.Metadata, error) { return f.meta, nil },
		Signature:    f.signed, Load: f.Load, Sums: f.Sums, TensorSum: f.TensorSum,
		Authenticate: func(driver.Verification) error { return nil },
	}, nil
}

func (f *fake) Load(i int) ([]byte, error) { return append(memory.Aligned(0), f.parts[i].data...), nil }

func (f *fake) Sums() []driver.Sum {
	check := func(v driver.Verification) error {
		if f.state != format.Unsigned {
			v.Signed(f.state == format.SignatureTrusted)
		}
		return nil
	}
	return append(f.sums, driver.Sum{Name: "signature", By: "signature", Hidden: true, Check: check})
}

func (f *fake) TensorSum(i int) driver.Digest {
	if i >= len(f.data) {
		return driver.Digest{}
	}
	return f.data[i]
}

// newFake opens a fake with these parts, each at a multiple of 64 plus its skew.
func newFake(t *testing.T, parts ...part) (*Model, *fake) {
	t.Helper()
	file := memory.Aligned(4 << 10)[:0]
	for i := range parts {
		p := &parts[i]
		p.at = (len(file)+63)&^63 + p.skew
		if file = file[:p.at]; !p.lazy {
			file = append(file, p.data...)
		}
	}
	f := &fake{parts: parts, signed: new(schema.Signature)}
	m, err := format.OpenBytes(file, &format.Options{Format: formatOf{f}})
	expect.OK(t, err)
	if m.Len() != len(parts) {
		t.Fatalf("%d tensors of %d", m.Len(), len(parts))
	}
	return newModel(m, DefaultMaxMemory), f
}

// floats returns values as little-endian float32.
func floats(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// ramp returns n bytes that differ from their neighbors.
func ramp(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(7 * i)
	}
	return b
}

// equal fails the test if got is not want.
func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}
