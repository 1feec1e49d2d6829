package format

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func TestWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.fake")
	for name, o := range map[string]*WriteOptions{"a format": {Format: asFormat{plainFake}}, "by extension": nil} {
		w, err := Create(path, fakeSchema(), o)
		expect.OK(t, err)
		expect.OK(t, feedFake(w))
		if b, err := os.ReadFile(path); string(b) != fakeFile || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for _, spool := range []Spool{SpoolFile, SpoolMemory, SpoolNever} {
		var out bytes.Buffer
		w, err := NewWriter(&out, fakeSchema(), &WriteOptions{Format: asFormat{plainFake}, Spool: spool})
		if err == nil {
			err = feedFake(w)
		}
		if out.String() != fakeFile || err != nil {
			t.Errorf("spool %d: %q, %v", spool, out.String(), err)
		}
	}
}

func TestWriterUnknownFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.none")
	_, err := Create(path, nil, nil)
	errIs(t, "Create by extension", err, ErrUnknownFormat)
	var e *tensor.Error
	if !errors.As(err, &e) || e.Path != path {
		t.Errorf("Create by extension: %v does not name %s", err, path)
	}
	_, err = NewWriter(io.Discard, nil, nil)
	errIs(t, "NewWriter", err, ErrUnknownFormat)
	_, err = Create(filepath.Join(path, "deep", "m.fake"), nil, nil)
	errIs(t, "Create below nothing", err, os.ErrNotExist)
}

func TestWriterNilSchema(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, nil, &WriteOptions{Format: asFormat{plainFake}})
	if err == nil {
		err = w.Close()
	}
	if out.String() != "FAKE\x00" || err != nil {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// untouched demands that path hold "old" and lie alone in its directory.
func untouched(t *testing.T, path string) {
	t.Helper()
	if b, err := os.ReadFile(path); string(b) != "old" || err != nil {
		t.Errorf("the old file is %q, %v", b, err)
	}
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// TestMissingPath: a writer without a path and without a stream is refused before anything is made.
func TestMissingPath(t *testing.T) {
	t.Chdir(t.TempDir())
	expect.Says(t, os.ErrInvalid, "fake: writer: invalid argument")(Create("", fakeSchema(), toyOptions(plainFake)))
	expect.Says(t, os.ErrInvalid, "fake: writer: invalid argument")(NewWriter(nil, fakeSchema(), toyOptions(plainFake)))
	wantFiles(t, ".", map[string]string{})
}

// TestWriterRefusals: a wrong name is the caller's slip and changes nothing.
func TestWriterRefusals(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, fakeSchema(), &WriteOptions{Format: asFormat{plainFake}})
	expect.OK(t, err)
	errIs(t, "an unknown name", w.WriteTensor("c", strings.NewReader("")), ErrNotFound)
	expect.OK(t, w.WriteTensor("a", strings.NewReader("AAA")))
	errIs(t, "a name again", w.WriteTensor("a", strings.NewReader("AAA")), ErrSchema)
	expect.OK(t, w.WriteTensor("bb", strings.NewReader("BB")))
	for range 2 {
		if err := w.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	errIs(t, "WriteTensor after Close", w.WriteTensor("a", strings.NewReader("AAA")), ErrAborted)
	if out.String() != fakeFile {
		t.Errorf("%q", out.String())
	}
}

// TestSchemaErrors: what no format can write is refused before the driver sees it.
func TestSchemaErrors(t *testing.T) {
	u8 := func(name string, dims ...int64) tensor.Info {
		return tensor.Info{Name: name, DType: tensor.Uint8, Shape: dims}
	}
	for _, tt := range []struct {
		name    string
		tensors []tensor.Info
		want    error
	}{
		{"empty name", []tensor.Info{u8("", 1)}, ErrCorrupt},
		{"NUL", []tensor.Info{u8("a\x00", 1)}, ErrCorrupt},
		{"UTF-8", []tensor.Info{u8("\xff", 1)}, ErrCorrupt},
		{"twice", []tensor.Info{u8("a", 1), u8("b", 1), u8("a", 1)}, ErrSchema},
		{"dtype", []tensor.Info{{Name: "a"}}, ErrDType},
		{"negative", []tensor.Info{u8("a", -1)}, ErrShape},
		{"overflow", []tensor.Info{u8("a", 1<<62, 2)}, ErrShape},
		{"sum of sizes", []tensor.Info{u8("a", 1<<62), u8("b", 1<<62)}, ErrLimit},
	} {
		f := &fake{name: "refused", magic: "FAKE"}
		path := stored(t, "m.fake", "old")
		_, err := Create(path, &schema.Schema{Tensors: tt.tensors}, &WriteOptions{Format: asFormat{f}})
		errIs(t, tt.name, err, ErrSchema)
		errIs(t, tt.name, err, tt.want)
		var e *tensor.Error
		if errors.As(err, &e) && (e.Format != "refused" || !strings.HasPrefix(e.Field, "tensor ")) {
			t.Errorf("%s: the error does not say which tensor: %v", tt.name, err)
		}
		if f.layouts != 0 {
			t.Errorf("%s: Layout was called", tt.name)
		}
		untouched(t, path)
	}
}

// TestSchemaIsCopied: the caller may change its schema once a writer has it.
func TestSchemaIsCopied(t *testing.T) {
	p := fakeSchema()
	var out bytes.Buffer
	w, err := NewWriter(&out, p, &WriteOptions{Format: asFormat{plainFake}})
	expect.OK(t, err)
	p.Tensors[0].Name, p.Tensors[0].Shape[0] = "x", 99
	if err := feedFake(w); err != nil || out.String() != fakeFile {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestWriteModel writes an open model again.
func TestWriteModel(t *testing.T) {
	m, err := OpenBytes([]byte(fakeFile), nil)
	expect.OK(t, err)
	p, err := m.Schema()
	if err != nil || !cmp.Equal(p.Metadata, expect.Got(t, m.Metadata)) || p.Graph != nil {
		t.Fatalf("%+v, %v", p, err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, p, &WriteOptions{Format: asFormat{plainFake}})
	expect.OK(t, err)
	expect.OK(t, w.WriteModel(m))
	expect.OK(t, w.Close())
	expect.Equal(t, fakeFile, out.String())
	m.Close()
	if _, err := m.Schema(); !errors.Is(err, ErrClosed) {
		t.Errorf("the schema of a closed model: %v", err)
	}
	w, err = NewWriter(&out, p, &WriteOptions{Format: asFormat{plainFake}})
	expect.OK(t, err)
	errIs(t, "WriteModel of a closed model", w.WriteModel(m), ErrClosed)
	errIs(t, "a writer without the tensors", w.Close(), ErrSchema)
}

// TestSave writes slices to a file and to a writer, or nothing.
func TestSave(t *testing.T) {
	a, _ := tensor.Of("a", tensor.Shape{3}, []uint8("AAA"))
	b, _ := tensor.Of("bb", tensor.Shape{2, 1}, []uint8("BB"))
	bad, badErr := tensor.Of("c", tensor.Shape{3}, []uint8("C"))
	m, err := OpenBytes([]byte(fakeFile), nil)
	expect.OK(t, err)
	gone := m.At(0)
	m.Close()
	fake := &WriteOptions{Format: asFormat{plainFake}}
	named := &schema.Schema{Tensors: []tensor.Info{b.Info(), a.Info()}}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name, file string
		ctx        context.Context
		s          *schema.Schema
		views      []tensor.View
		o          *WriteOptions
		want       error
	}{
		{"by its ending", "m.fake", t.Context(), nil, []tensor.View{a, b}, nil, nil},
		{"by its format", "m.bin", t.Context(), nil, []tensor.View{a, b}, fake, nil},
		{"with a schema", "m.fake", t.Context(), fakeSchema(), []tensor.View{b, a}, nil, nil},
		{"a schema without tensors", "m.fake", t.Context(), &schema.Schema{}, []tensor.View{a, b}, nil, nil},
		{"a schema without one", "m.fake", t.Context(), named, []tensor.View{b}, nil, ErrSchema},
		{"unknown", "m.bin", t.Context(), nil, []tensor.View{a, b}, nil, ErrUnknownFormat},
		{"twice the same name", "m.fake", t.Context(), nil, []tensor.View{a, a}, nil, ErrSchema},
		{"a view with an error", "m.fake", t.Context(), nil, []tensor.View{a, bad}, nil, badErr},
		{"a closed model", "m.fake", t.Context(), nil, []tensor.View{b, gone}, nil, ErrClosed},
		{"no tensor", "m.fake", t.Context(), nil, []tensor.View{{}}, nil, ErrClosed},
		{"canceled", "m.fake", canceled, nil, []tensor.View{a, b}, &WriteOptions{Context: t.Context()}, context.Canceled},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, test.file)
		err := Save(test.ctx, path, test.s, test.views, test.o)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		got, _ := os.ReadFile(path)
		left, _ := os.ReadDir(dir)
		if test.want == nil && string(got) != fakeFile || test.want != nil && len(left) > 0 {
			t.Errorf("%s: %q, and there are %v", test.name, got, left)
		}
		var out bytes.Buffer
		err = Write(test.ctx, &out, test.s, test.views, test.o.With(fake.Format))
		if test.want == nil && (err != nil || out.String() != fakeFile) {
			t.Errorf("%s, to a writer: %q, %v", test.name, out.String(), err)
		}
	}
}

// TestSchemaOfBrokenMetadata: what cannot be read is not left out.
func TestSchemaOfBrokenMetadata(t *testing.T) {
	f := &fake{name: "broken", magic: "FAKE", metaErr: errMine}
	m, err := OpenBytes([]byte(fakeFile), &Options{Format: asFormat{f}})
	expect.OK(t, err)
	defer m.Close()
	_, err = m.Schema()
	errIs(t, "Schema", err, errMine)
}
