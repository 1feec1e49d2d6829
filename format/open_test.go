package format

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stored writes text to a file and returns its path.
func stored(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOpenWays opens the same file in every way, with and without detection.
func TestOpenWays(t *testing.T) {
	path := stored(t, "m.bin", fakeFile)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := plainFake.codec()
	size := int64(len(fakeFile))
	for name, open := range map[string]func() (Model, error){
		"Open":               func() (Model, error) { return Open(path, nil) },
		"OpenBytes":          func() (Model, error) { return OpenBytes([]byte(fakeFile), nil) },
		"OpenReaderAt":       func() (Model, error) { return OpenReaderAt(bytes.NewReader([]byte(fakeFile)), size, nil) },
		"OpenFile":           func() (Model, error) { return OpenFile(f, 0, -1, nil) },
		"forced":             func() (Model, error) { return Open(path, &Options{Format: "fake"}) },
		"Codec.Open":         func() (Model, error) { return c.Open(path, nil) },
		"Codec.OpenBytes":    func() (Model, error) { return c.OpenBytes([]byte(fakeFile), nil) },
		"Codec.OpenReaderAt": func() (Model, error) { return c.OpenReaderAt(bytes.NewReader([]byte(fakeFile)), size, nil) },
		"Codec.OpenFile":     func() (Model, error) { return c.OpenFile(f, 0, size, nil) },
	} {
		m, err := open()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string]string{}
		for n, v := range m.Tensors() {
			b, err := v.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			got[n] = string(b)
		}
		if d := cmp.Diff(fakeData, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
		m.Close()
	}
}

// TestOpenErrors: every error names the file, and the format once it is known.
func TestOpenErrors(t *testing.T) {
	good, cut, strange := stored(t, "good.fake", fakeFile), stored(t, "cut.fake", fakeFile[:len(fakeFile)-1]), stored(t, "strange.bin", "????")
	named, empty := stored(t, "named.fake", "????"), stored(t, "empty.fake", "")
	dir := t.TempDir()
	none := filepath.Join(dir, "none.fake")
	c := plainFake.codec()
	for _, tt := range []struct {
		name string
		open func() (Model, error)
		want error
		is   Error // format, path, field and offset
	}{
		{"missing", func() (Model, error) { return Open(none, nil) }, fs.ErrNotExist, Error{Path: none, Offset: -1}},
		{"missing, forced by codec", func() (Model, error) { return c.Open(none, nil) }, fs.ErrNotExist, Error{Format: "fake", Path: none, Offset: -1}},
		{"cut", func() (Model, error) { return Open(cut, nil) }, ErrTruncated, Error{Format: "fake", Path: cut, Field: "data", Offset: 15}},
		{"cut, in memory", func() (Model, error) { return OpenBytes([]byte("FAKE"), nil) }, ErrTruncated, Error{Format: "fake", Field: "count", Offset: 4}},
		{"unknown", func() (Model, error) { return Open(strange, nil) }, ErrUnknownFormat, Error{Path: strange, Field: "magic"}},
		{"unknown, the name says", func() (Model, error) { return Open(named, nil) }, ErrMagic, Error{Format: "fake", Path: named, Field: "magic"}},
		{"empty, the name says", func() (Model, error) { return Open(empty, nil) }, ErrUnknownFormat, Error{Format: "fake", Path: empty, Field: "magic"}},
		{"empty", func() (Model, error) { return OpenBytes(nil, nil) }, ErrUnknownFormat, Error{Field: "magic"}},
		{"forced to another", func() (Model, error) { return Open(good, &Options{Format: "tie1"}) }, ErrMagic, Error{Format: "tie1", Path: good, Field: "magic"}},
		{"forced to nothing known", func() (Model, error) { return Open(good, &Options{Format: "none"}) }, ErrUnknownFormat, Error{Path: good, Field: "format", Offset: -1}},
		{"another codec's", func() (Model, error) { return c.Open(strange, nil) }, ErrMagic, Error{Format: "fake", Path: strange, Field: "magic"}},
		{"directory of a format without", func() (Model, error) { return Open(dir, &Options{Format: "fake"}) }, ErrUnknownFormat, Error{Path: dir, Offset: -1}},
		{"directory by codec", func() (Model, error) { return c.Open(dir, nil) }, os.ErrInvalid, Error{}},
		{"reader that lies", func() (Model, error) { return OpenReaderAt(bytes.NewReader([]byte("FAKE")), 100, nil) }, ErrTruncated, Error{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := tt.open()
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			if m != nil {
				t.Errorf("a model beside the error: %v", m)
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *format.Error", err)
			}
			if tt.is == (Error{}) {
				return
			}
			errIs(t, tt.name, err, tt.want)
			got := Error{Format: e.Format, Path: e.Path, Field: e.Field, Offset: e.Offset}
			if d := cmp.Diff(tt.is, got, cmp.Comparer(func(a, b error) bool { return a == b })); d != "" {
				t.Errorf("%v (-want +got)\n%s", err, d)
			}
		})
	}
}

// TestOpenDirectory: a directory goes to a format that keeps models in them.
func TestOpenDirectory(t *testing.T) {
	dir := t.TempDir()
	m, err := Open(dir, &Options{Format: "fakedir"})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	m, err = dirFake.codec().Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if m, err = dirFake.codec().Open(stored(t, "f", "DIRECTORY\x00"), nil); err != nil {
		t.Fatal(err)
	}
	m.Close()
}

// TestCheckAll: opening verifies when it is asked to, and closes what fails.
func TestCheckAll(t *testing.T) {
	f := &fake{name: "checked", magic: "FAKE", verifyErr: errMine, dirs: true}
	c := f.codec()
	m, err := c.OpenBytes([]byte(fakeFile), nil)
	if err != nil {
		t.Fatalf("without CheckAll: %v", err)
	}
	m.Close()
	f.closed = 0
	o := &Options{Check: CheckAll}
	m, err = c.OpenBytes([]byte(fakeFile), o)
	errIs(t, "with CheckAll", err, errMine)
	if m != nil || f.closed != 1 {
		t.Errorf("the model was closed %d times", f.closed)
	}
	_, err = c.Open(t.TempDir(), o)
	errIs(t, "a directory with CheckAll", err, errMine)
	f.verifyErr = nil
	if m, err = c.OpenBytes([]byte(fakeFile), o); err != nil {
		t.Errorf("with CheckAll, sound: %v", err)
	} else {
		m.Close()
	}
}

func TestAs(t *testing.T) {
	m, err := As[*fakeModel](plainFake.codec().OpenBytes([]byte(fakeFile), nil))
	if err != nil || m.Len() != 2 {
		t.Fatalf("%v, %v", m, err)
	}
	m.Close()
	m, err = As[*fakeModel](plainFake.codec().OpenBytes(nil, nil))
	if err == nil || m != nil {
		t.Errorf("%v, %v, want nil and an error", m, err)
	}
}

func TestOptionsDefaults(t *testing.T) {
	want := &Options{MaxTensors: 1 << 22, MaxHeaderBytes: 1 << 30}
	if d := cmp.Diff(want, (*Options)(nil).WithDefaults()); d != "" {
		t.Errorf("nil (-want +got)\n%s", d)
	}
	if d := cmp.Diff(want, (&Options{MaxTensors: -1, MaxGraphBytes: -5}).WithDefaults()); d != "" {
		t.Errorf("negative (-want +got)\n%s", d)
	}
	mine := &Options{Format: "mag", Check: CheckAll, MaxTensors: 1, MaxHeaderBytes: 2, MaxMetadataBytes: 3, MaxGraphBytes: 4, Key: []byte{5}, Dir: "d", Debug: true}
	got := mine.WithDefaults()
	if d := cmp.Diff(mine, got); d != "" || got == mine {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestInflationLimits: by default a section may inflate to 256 times what is
// stored, to 16 MiB in any case, and to the limit at most; a caller's limit is
// taken as it is.
func TestInflationLimits(t *testing.T) {
	for _, c := range []struct {
		o               Options
		stored          int64
		metadata, graph int64
	}{
		{Options{}, 0, 16 << 20, 16 << 20},
		{Options{}, 1 << 16, 16 << 20, 16 << 20},
		{Options{}, 1<<16 + 1, 16<<20 + 256, 16<<20 + 256},
		{Options{}, 1 << 18, 64 << 20, 64 << 20},
		{Options{}, 1 << 20, 64 << 20, 256 << 20},
		{Options{}, 1 << 62, 64 << 20, 1 << 30},
		{Options{MaxMetadataBytes: 5, MaxGraphBytes: 1 << 40}, 1, 5, 1 << 40},
		{Options{MaxMetadataBytes: DefaultMaxMetadataBytes, MaxGraphBytes: DefaultMaxGraphBytes}, 1, 64 << 20, 1 << 30},
	} {
		o := c.o.WithDefaults()
		if m, g := o.MetadataLimit(c.stored), o.GraphLimit(c.stored); m != c.metadata || g != c.graph {
			t.Errorf("%+v, %d bytes stored: %d and %d, want %d and %d", c.o, c.stored, m, g, c.metadata, c.graph)
		}
	}
}

func TestVerifyOptions(t *testing.T) {
	var reports int
	o := NewVerifyOptions([]VerifyOption{
		WithProgress(func(int64, int64, string) { reports++ }), WithTrustedKey("key"), WithTensors("a"), WithTensors("b", "c"), WithWorkers(3),
	})
	o.Progress(0, 0, "")
	if reports != 1 || o.Trusted != "key" || !cmp.Equal(o.Tensors, []string{"a", "b", "c"}) || o.Workers != 3 {
		t.Errorf("%+v", o)
	}
	if o := NewVerifyOptions(nil); o.Progress != nil || o.Trusted != nil || o.Tensors != nil || o.Workers != 0 {
		t.Errorf("none: %+v", o)
	}
}

func TestNamed(t *testing.T) {
	if err := named(nil, "f", "p"); err != nil {
		t.Errorf("nil became %v", err)
	}
	for _, tt := range []struct {
		in   error
		want string
	}{
		{errMine, "f: p: mine"},
		{&Error{Offset: 3, Err: errMine}, "f: p: at 0x3: mine"},
		{&Error{Format: "g", Path: "q", Offset: -1, Err: errMine}, "g: q: mine"},
		{&Error{Format: "g", Offset: -1, Err: errMine}, "g: p: mine"},
	} {
		if got := named(tt.in, "f", "p"); got.Error() != tt.want || !errors.Is(got, errMine) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
