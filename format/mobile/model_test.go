package mobile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// description is what a model says of itself, for comparisons.
type description struct {
	Format, Version, Metadata string
	Tensors                   []tensorDescription
}

type tensorDescription struct {
	Name, DType          string
	Shape                []int64
	Len, ByteSize, Place int64
	ZeroCopy             bool
	Data                 []byte
}

// describe asks for everything, by index and by name.
func describe(t *testing.T, m *Model) description {
	t.Helper()
	meta, err := m.MetadataJSON()
	expect.OK(t, err)
	d := description{Format: m.Format(), Version: m.Version(), Metadata: meta}
	for i := range m.TensorCount() {
		byIndex, err := m.Tensor(i)
		expect.OK(t, err)
		x, err := m.TensorNamed(m.TensorName(i))
		expect.OK(t, err)
		if byIndex.Name() != x.Name() {
			t.Errorf("tensor %d is %q by index and %q by name", i, byIndex.Name(), x.Name())
		}
		td := tensorDescription{
			Name: x.Name(), DType: x.DType(), Len: x.Len(), ByteSize: x.ByteSize(),
			Place: x.FileOffset(), ZeroCopy: x.ZeroCopy(),
		}
		for axis := range x.ShapeRank() {
			td.Shape = append(td.Shape, x.ShapeAt(axis))
		}
		td.Data, err = x.Bytes()
		expect.OK(t, err)
		d.Tensors = append(d.Tensors, td)
	}
	return d
}

// sample is a mag file with two tensors and metadata, and what it holds.
func sample(t *testing.T) (file []byte, want description) {
	t.Helper()
	want = description{
		Format: "mag", Version: "1", Metadata: `{"epoch":3}`,
		Tensors: []tensorDescription{
			{Name: "fc.weight", DType: "float32", Shape: []int64{2, 3}, Len: 6, ByteSize: 24, ZeroCopy: memory.LittleEndian, Data: floats(1, -2, 3, -4, 5, -6)},
			{Name: "ids", DType: "int32", Shape: []int64{5}, Len: 5, ByteSize: 20, ZeroCopy: memory.LittleEndian, Data: ramp(20)},
		},
	}
	s := &schema.Schema{Metadata: schema.Metadata{{Key: "epoch", Value: int64(3)}}}
	for _, x := range want.Tensors {
		dtype, _ := tensor.ParseDType(x.DType)
		s.Tensors = append(s.Tensors, tensor.Info{Name: x.Name, DType: dtype, Shape: x.Shape})
	}
	file = written(t, "mag", s, nil, want.Tensors[0].Data, want.Tensors[1].Data)
	for i, x := range want.Tensors {
		want.Tensors[i].Place = int64(bytes.Index(file, x.Data))
	}
	return file, want
}

// written returns a file of a format, with the data of each tensor.
func written(t *testing.T, name string, s *schema.Schema, o *format.WriteOptions, data ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := format.NewWriter(&out, s, o.With(expect.Must(format.ByName(name))))
	expect.OK(t, err)
	for i, b := range data {
		expect.OK(t, w.WriteTensor(s.Tensors[i].Name, bytes.NewReader(b)))
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}

// openBytes opens a file of bytes until the test ends.
func openBytes(t *testing.T, file []byte) *Model {
	t.Helper()
	m, err := OpenBytes(file, nil)
	expect.OK(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// save writes b to a file of its own.
func save(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	expect.OK(t, os.WriteFile(path, b, 0o600))
	return path
}

func TestOpen(t *testing.T) {
	file, want := sample(t)
	path := save(t, "m.mag", file)
	for _, test := range []struct {
		name string
		open func() (*Model, error)
	}{
		{"path", func() (*Model, error) { return Open(path, nil) }},
		{"path and options", func() (*Model, error) { return Open(path, NewOptions()) }},
		{"bytes", func() (*Model, error) { return OpenBytes(file, nil) }},
		{"bytes that change afterwards", func() (*Model, error) {
			lent := bytes.Clone(file)
			defer clear(lent)
			return OpenBytes(lent, nil)
		}},
		{"check all", func() (*Model, error) { return Open(path, &Options{Check: CheckAll, Format: "mag"}) }},
		{"check on touch", func() (*Model, error) { return Open(path, &Options{Check: CheckTouch}) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := test.open()
			expect.OK(t, err)
			defer m.Close()
			equal(t, "", want, describe(t, m))
			if err := m.Prefetch(); err != nil {
				t.Errorf("Prefetch: %v", err)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	file, _ := sample(t)
	path := save(t, "m.mag", file)
	flipped := bytes.Clone(file)
	flipped[30] ^= 0x10
	for _, test := range []struct {
		name string
		open func() (*Model, error)
		code string
		text string // in the message
	}{
		{"no file", func() (*Model, error) { return Open(path+"x", nil) }, CodeFile, path + "x"},
		{"not a model", func() (*Model, error) { return OpenBytes([]byte("hello, world"), nil) }, CodeUnknownFormat, "plain text"},
		{"no such format", func() (*Model, error) { return OpenBytes(file, &Options{Format: "keras"}) }, CodeUnknownFormat, "keras"},
		{"flipped bit", func() (*Model, error) { return OpenBytes(flipped, nil) }, "", "mag: at 0x"},
		{"cut short", func() (*Model, error) { return OpenBytes(file[:20], nil) }, CodeTruncated, "mag"},
		{"too much memory", func() (*Model, error) { return OpenBytes(file, &Options{MaxMemory: 100}) }, CodeLimit, "MaxMemory allows 100"},
		{"negative memory", func() (*Model, error) { return OpenBytes(file, &Options{MaxMemory: -1}) }, CodeOption, "MaxMemory"},
		{"unknown check", func() (*Model, error) { return Open(path, &Options{Check: "some"}) }, CodeOption, "check"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := test.open()
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			if m != nil {
				t.Error("a model with the error")
			}
			if got := ErrorCode(err); test.code != "" && got != test.code {
				t.Errorf("code %q, want %q (%v)", got, test.code, err)
			}
			if !strings.Contains(err.Error(), test.text) {
				t.Errorf("%q is not in %q", test.text, err)
			}
		})
	}
}

func TestName(t *testing.T) {
	for _, test := range []struct {
		name string
		meta schema.Metadata
		want string
	}{
		{"none", nil, ""},
		{"mobi", schema.Metadata{{Key: "name", Value: "mnist"}}, "mnist"},
		{"mle", schema.Metadata{{Key: "epoch", Value: int64(1)}, {Key: "model_name", Value: "iris"}}, "iris"},
		{"wia", schema.Metadata{{Key: "model_info", Value: json.RawMessage(`{"name": "resnet", "version": "1.0.0"}`)}}, "resnet"},
		{"not a text", schema.Metadata{{Key: "name", Value: int64(1)}}, ""},
		{"not an object", schema.Metadata{{Key: "model_info", Value: json.RawMessage(`[1]`)}}, ""},
		{"not a text in an object", schema.Metadata{{Key: "model_info", Value: json.RawMessage(`{"name": 1}`)}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, f := newFake(t)
			f.meta = test.meta
			if got := m.Name(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			f.meta = schema.Metadata{{Key: "bad", Value: json.RawMessage(`{`)}}
			if _, err := m.MetadataJSON(); err == nil || !strings.Contains(err.Error(), "fake: metadata") {
				t.Errorf("got %v, want an error that names format and field", err)
			}
		})
	}
}

// TestMaxMemory: the limit holds for what the library keeps and for each copy it returns, and is
// there without options.
func TestMaxMemory(t *testing.T) {
	file, want := sample(t)
	for options, limit := range map[*Options]int64{nil: DefaultMaxMemory, NewOptions(): DefaultMaxMemory, {MaxMemory: 1 << 40}: 1 << 40} {
		m, err := OpenBytes(file, options)
		expect.OK(t, err)
		defer m.Close()
		if m.limit != limit {
			t.Errorf("limit %d, want %d", m.limit, limit)
		}
	}
	data := want.Tensors[0].Data
	for limit, code := range map[int]string{len(data): "", len(data) - 1: CodeLimit} {
		m, _ := newFake(t, part{name: "x", dtype: tensor.Float32, shape: want.Tensors[0].Shape, data: data})
		m.limit = int64(limit)
		x := get(t, m, "x")
		if _, err := x.Bytes(); ErrorCode(err) != code {
			t.Errorf("Bytes of %d bytes: %v, want code %q", limit, err, code)
		}
		if _, err := x.Float32Bytes(); ErrorCode(err) != code {
			t.Errorf("Float32Bytes of %d bytes: %v, want code %q", limit, err, code)
		}
		if n, err := x.CopyTo(make([]byte, len(data))); n != int64(len(data)) || err != nil { // the app's memory
			t.Errorf("CopyTo: %d, %v", n, err)
		}
		m.Close()
	}
	if _, err := OpenBytes(file, &Options{MaxMemory: 1}); ErrorCode(err) != CodeLimit {
		t.Errorf("a limit of one byte: %v", err)
	}
}
