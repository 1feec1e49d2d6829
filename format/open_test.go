package format

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// stored writes text to a file and returns its path.
func stored(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	expect.OK(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// TestOpenErrors: every error names the file, and the format once it is known.
func TestOpenErrors(t *testing.T) {
	good, cut, strange := stored(t, "good.fake", fakeFile), stored(t, "cut.fake", fakeFile[:len(fakeFile)-1]), stored(t, "strange.bin", "????")
	named, empty := stored(t, "named.fake", "????"), stored(t, "empty.fake", "")
	dir := t.TempDir()
	none := filepath.Join(dir, "none.fake")
	c := asFormat{plainFake}
	for _, tt := range []struct {
		name string
		open func() (*Model, error)
		want error
		is   tensor.Error // format, path, field and offset
	}{
		{"missing", func() (*Model, error) { return Open(none, nil) }, fs.ErrNotExist, tensor.Error{Path: none, Offset: -1}},
		{"missing, forced", func() (*Model, error) { return Open(none, &Options{Format: c}) }, fs.ErrNotExist, tensor.Error{Format: "fake", Path: none, Offset: -1}},
		{"cut", func() (*Model, error) { return Open(cut, nil) }, ErrTruncated, tensor.Error{Format: "fake", Path: cut, Field: "data", Offset: 15}},
		{"cut, in memory", func() (*Model, error) { return OpenBytes([]byte("FAKE"), nil) }, ErrTruncated, tensor.Error{Format: "fake", Field: "count", Offset: 4}},
		{"unknown", func() (*Model, error) { return Open(strange, nil) }, ErrUnknownFormat, tensor.Error{Path: strange, Field: "magic"}},
		{"unknown, the name says", func() (*Model, error) { return Open(named, nil) }, ErrMagic, tensor.Error{Format: "fake", Path: named, Field: "magic"}},
		{"empty, the name says", func() (*Model, error) { return Open(empty, nil) }, ErrUnknownFormat, tensor.Error{Format: "fake", Path: empty, Field: "magic"}},
		{"empty", func() (*Model, error) { return OpenBytes(nil, nil) }, ErrUnknownFormat, tensor.Error{Field: "magic"}},
		{"forced to another", func() (*Model, error) { return Open(good, &Options{Format: expect.Must(ByName("tie1"))}) }, ErrMagic, tensor.Error{Format: "tie1", Path: good, Field: "magic"}},
		{"forced to nothing", func() (*Model, error) { return Open(good, &Options{Format: asFormat{}}) }, ErrUnknownFormat, tensor.Error{Path: good, Field: "format", Offset: -1}},
		{"another format's", func() (*Model, error) { return Open(strange, &Options{Format: c}) }, ErrMagic, tensor.Error{Format: "fake", Path: strange, Field: "magic"}},
		{"directory of a format without", func() (*Model, error) { return Open(dir, &Options{Format: expect.Must(ByName("fake"))}) }, ErrUnknownFormat, tensor.Error{Format: "fake", Path: dir, Offset: -1}},
		{"directory by value", func() (*Model, error) { return Open(dir, &Options{Format: c}) }, os.ErrInvalid, tensor.Error{}},
		{"reader that lies", func() (*Model, error) { return OpenReaderAt(bytes.NewReader([]byte("FAKE")), 100, nil) }, ErrTruncated, tensor.Error{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := tt.open()
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			if m != nil {
				t.Errorf("a model comes with the error: %v", m)
			}
			var e *tensor.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *tensor.Error", err)
			}
			if tt.is == (tensor.Error{}) {
				return
			}
			errIs(t, tt.name, err, tt.want)
			got := tensor.Error{Format: e.Format, Path: e.Path, Field: e.Field, Offset: e.Offset}
			if d := cmp.Diff(tt.is, got, cmp.Comparer(func(a, b error) bool { return a == b })); d != "" {
				t.Errorf("%v (-want +got)\n%s", err, d)
			}
		})
	}
}

// TestOpenDirectory: a directory goes to a format that keeps models in them.
func TestOpenDirectory(t *testing.T) {
	path := stored(t, "model", "DIRECTORY\x01\x01a\x01A")
	dir := filepath.Dir(path)
	expect.OK(t, os.WriteFile(filepath.Join(dir, "other.fakedir"), nil, 0o644))
	for name, open := range map[string]func() (*Model, error){
		"Open":               func() (*Model, error) { return Open(dir, nil) },
		"forced":             func() (*Model, error) { return Open(dir, &Options{Format: expect.Must(ByName("fakedir"))}) },
		"a value":            func() (*Model, error) { return Open(dir, &Options{Format: asFormat{dirFake}}) },
		"a value, of a file": func() (*Model, error) { return Open(path, &Options{Format: asFormat{dirFake}}) },
	} {
		m, err := open()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Format() != "fakedir" || m.Len() != 1 {
			t.Errorf("%s: %s with %d tensors", name, m.Format(), m.Len())
		}
		m.Close()
	}
	_, err := Open(t.TempDir(), nil)
	errIs(t, "an empty directory", err, ErrUnknownFormat)
}

// TestCheckAll: opening verifies when it is asked to.
func TestCheckAll(t *testing.T) {
	f := &fake{name: "checked", magic: "FAKE", verifyErr: errMine}
	c := asFormat{fakeDirs{f}}
	m, err := OpenBytes([]byte(fakeFile), &Options{Format: c})
	if err != nil || f.verified != 0 {
		t.Fatalf("without CheckAll: %v, verified %d times", err, f.verified)
	}
	m.Close()
	o := &Options{Check: CheckAll}
	m, err = OpenBytes([]byte(fakeFile), o.With(c))
	errIs(t, "with CheckAll", err, errMine)
	if m != nil {
		t.Error("a model comes with the error")
	}
	_, err = Open(filepath.Dir(stored(t, "model", fakeFile)), o.With(c))
	errIs(t, "a directory with CheckAll", err, errMine)
	f.verifyErr = nil
	if m, err = OpenBytes([]byte(fakeFile), o.With(c)); err != nil {
		t.Errorf("with CheckAll, sound: %v", err)
	} else {
		m.Close()
	}
}

// TestOptions: those that make no sense are refused.
func TestOptions(t *testing.T) {
	for name, o := range map[string]*Options{
		"MaxMemory": {MaxMemory: -1}, "CacheBytes": {CacheBytes: -1}, "Workers": {Workers: -1}, "Check": {Check: CheckAll + 1},
	} {
		path := stored(t, "m.fake", fakeFile)
		for way, open := range map[string]func() (*Model, error){
			"Open":         func() (*Model, error) { return Open(path, o) },
			"OpenBytes":    func() (*Model, error) { return OpenBytes([]byte(fakeFile), o) },
			"OpenReaderAt": func() (*Model, error) { return OpenReaderAt(strings.NewReader(fakeFile), int64(len(fakeFile)), o) },
		} {
			_, err := open()
			errIs(t, way+" with "+name, err, ErrOption)
			if e := (*tensor.Error)(nil); errors.As(err, &e) && e.Field != name {
				t.Errorf("the error of %s is about %s", name, e.Field)
			}
		}
	}
	_, err := NewWriter(io.Discard, fakeSchema(), &WriteOptions{Format: asFormat{plainFake}, Spool: SpoolNever + 1})
	errIs(t, "Spool", err, ErrOption)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := OpenBytes([]byte(fakeFile), &Options{Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
}

// TestCoverage: what a verification covered is told by name, in words too.
func TestCoverage(t *testing.T) {
	m, err := OpenBytes([]byte(fakeFile), nil)
	expect.OK(t, err)
	defer m.Close()
	for _, tt := range []struct {
		names   []string
		tensors []Covered
		text    string
	}{
		{nil, []Covered{{Name: "a", By: "good will"}, {Name: "bb", By: ""}}, "ok, but nothing covers the list or the data of 1 tensor"},
		{[]string{"a", "bb"}, []Covered{{Name: "a", By: "good will"}, {Name: "bb", By: ""}}, "ok, but nothing covers the list or the data of 1 tensor"},
		{[]string{"a"}, []Covered{{Name: "a", By: "good will"}}, "ok, but nothing covers the list"},
	} {
		c, err := m.Verify(t.Context(), &VerifyOptions{Tensors: tt.names})
		expect.OK(t, err)
		if d := cmp.Diff(tt.tensors, slices.Collect(c.Tensors())); d != "" {
			t.Errorf("%q (-want +got)\n%s", tt.names, d)
		}
		if c.String() != tt.text || c.Signature() != Unsigned {
			t.Errorf("%q: %s, %v", tt.names, c, c.Signature())
		}
		if d := cmp.Diff([]Covered{{Name: "list", By: ""}}, c.Sections()); d != "" {
			t.Errorf("%q (-want +got)\n%s", tt.names, d)
		}
	}
	_, err = m.Verify(t.Context(), &VerifyOptions{Workers: -1})
	errIs(t, "fewer than no workers", err, ErrOption)
	// A key that could not be found must not be taken for none.
	_, err = m.Verify(t.Context(), &VerifyOptions{Trusted: TrustKey(nil)})
	errIs(t, "no key", err, ErrKey)
	errIs(t, "no key", err, ErrSignature)
}

// TestZeroValues: the zero values of all types answer errors and do not panic.
func TestZeroValues(t *testing.T) {
	for name, m := range map[string]*Model{"zero": {}, "nil": nil} {
		v, err := m.Tensor("w")
		_, verify := m.Verify(t.Context(), nil)
		_, pin := m.Pin()
		_, use := v.Bytes()
		_, at := m.At(0).Bytes()
		_, schemaErr := m.Schema()
		_, meta := m.Metadata()
		_, value := m.Value("k")
		for what, err := range map[string]error{
			"Tensor": err, "Verify": verify, "Pin": pin, "Prefetch": m.Prefetch(t.Context()), "Do": m.Guard(func() error { return nil }), "the view": use, "At": at, "Metadata": meta, "Value": value, "Schema": schemaErr,
		} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s of the %s Model: %v", what, name, err)
			}
		}
		g, err := m.Graph()
		if g != nil || err != nil || m.Len() != 0 || m.Format()+m.Version()+m.Path() != "" || m.Notes() != nil ||
			m.Signature() != nil || m.NeedsKey() || m.Close() != nil || m.Stats().Resident != -1 {
			t.Errorf("the %s Model says something", name)
		}
		for range m.Tensors() {
			t.Errorf("the %s Model has a tensor", name)
		}
	}
	for name, c := range map[string]*Coverage{"zero": {}, "nil": nil} {
		if c.Sections() != nil || len(slices.Collect(c.Uncovered())) != 0 || c.Signature() != Unsigned || c.String() != "not verified" || len(slices.Collect(c.Tensors())) != 0 {
			t.Errorf("the %s Coverage covers something", name)
		}
	}
	_, reader := OpenReaderAt(nil, 1<<40, &Options{Format: expect.Must(ByName("fake"))})
	_, file := OpenFile(nil, 0, -1, nil)
	_, out := NewWriter(nil, fakeSchema(), &WriteOptions{Format: asFormat{plainFake}})
	for what, err := range map[string]error{"OpenReaderAt": reader, "OpenFile": file, "NewWriter": out} {
		errIs(t, what+" of nil", err, fs.ErrInvalid)
	}
	none := asFormat{}
	_, open := OpenBytes(nil, &Options{Format: none})
	_, create := Create("x", nil, &WriteOptions{Format: none})
	_, writer := NewWriter(io.Discard, nil, &WriteOptions{Format: none})
	_, losses := Losses("x", nil, &WriteOptions{Format: none})
	for what, err := range map[string]error{"OpenBytes": open, "Create": create, "NewWriter": writer, "Losses": losses} {
		errIs(t, what+" of a Format without a driver", err, ErrUnknownFormat)
	}
}
