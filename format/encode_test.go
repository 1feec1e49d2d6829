package format

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// toyWriter is a driver that cannot write.
type toyWriter struct{}

func (toyWriter) Describe() driver.Description {
	return driver.Description{Name: "toy", Extensions: []string{".toy"}}
}

func (toyWriter) Detect([]byte, int64) bool { return true }

func (toyWriter) Parse(driver.Source, *driver.Index, *driver.ParseOptions) (*driver.Parsed, error) {
	return nil, tensor.ErrUnsupported
}

func (toyWriter) Losses(*schema.Schema, *driver.LayoutOptions, *schema.LossList) error { return nil }

// laidOut is a driver whose files have a layout.
type laidOut struct {
	toyWriter
	layout func(p *schema.Schema) (*driver.Layout, error)
}

func (d *laidOut) Layout(p *schema.Schema, _ *driver.LayoutOptions) (*driver.Layout, error) {
	return d.layout(p)
}

// encoded is a driver with an encoder: the tensors one after the other, and their number at
// the front, written last. Its fields select failures.
type encoded struct {
	toyWriter
	encodeErr, tensorErr, finishErr error
	leave                           bool // do not consume the data
	streams                         bool // the number is written first
	made                            []*toyEncoder
}

type toyEncoder struct {
	d      *encoded
	t      driver.Target
	at     int64
	n      int
	closed int
}

func (d *encoded) Layout(p *schema.Schema, _ *driver.LayoutOptions) (*driver.Layout, error) {
	return &driver.Layout{Streams: d.streams, Encode: func(t driver.Target) (driver.Encoder, error) { return d.encode(t, p) }}, nil
}

func (d *encoded) encode(t driver.Target, p *schema.Schema) (driver.Encoder, error) {
	e := &toyEncoder{d: d, t: t, at: 1}
	if d.encodeErr != nil {
		return nil, d.encodeErr
	}
	d.made = append(d.made, e)
	if d.streams {
		_, err := t.WriteAt([]byte{byte('0' + len(p.Tensors))}, 0)
		return e, err
	}
	return e, nil
}

func (e *toyEncoder) Tensor(i int, in driver.Input) error {
	e.n++
	if e.d.tensorErr != nil || e.d.leave {
		return e.d.tensorErr
	}
	at := e.at
	e.at += in.Size()
	return in.CopyTo(e.t, at, nil)
}

func (e *toyEncoder) Finish() error {
	if e.d.finishErr != nil || e.d.streams {
		return e.d.finishErr
	}
	_, err := e.t.WriteAt([]byte{byte('0' + e.n)}, 0)
	return err
}

func (e *toyEncoder) Close() error { e.closed++; return nil }

// threeTensors returns a schema; threeData is its data.
func threeTensors() *schema.Schema {
	info := func(name string, n int64) tensor.Info {
		return tensor.Info{Name: name, DType: tensor.Uint8, Shape: tensor.Shape{n}}
	}
	return &schema.Schema{Tensors: []tensor.Info{info("a", 3), info("b", 2), info("empty", 0), info("c", 4)}}
}

var threeData = map[string]string{"a": "AAA", "b": "BB", "c": "CCCC", "empty": ""}

// backwards lays threeTensors out as "head..CCCC|BBAAA...", c first.
func backwards(p *schema.Schema) (*driver.Layout, error) {
	return &driver.Layout{
		Size: 19, Offsets: []int64{13, 11, 6, 6},
		Parts: []driver.Part{{Offset: 0, Bytes: []byte("head")}, {Offset: 10, Bytes: []byte("|")}},
	}, nil
}

const backwardsFile = "head\x00\x00CCCC|BBAAA\x00\x00\x00"

// toyOptions returns options to write with a driver.
func toyOptions(d driver.Driver) *WriteOptions {
	return &WriteOptions{Format: asFormat{d}, Context: context.Background(), NoSync: true}
}

// writeInOrder writes the tensors in the given order, one letter each ("e" for the empty one), and closes the
// writer.
func writeInOrder(w *Writer, order string) error {
	for _, name := range strings.Split(strings.ReplaceAll(order, "e", "empty"), " ") {
		if err := w.WriteTensor(name, strings.NewReader(threeData[name])); err != nil {
			return err
		}
	}
	return w.Close()
}

// streamed returns what a driver writes to a stream.
func streamed(d driver.Driver, spool Spool, order string) (string, error) {
	var out bytes.Buffer
	c := toyOptions(d)
	c.Spool = spool
	w, err := NewWriter(&out, threeTensors(), c)
	if err == nil {
		err = writeInOrder(w, order)
	}
	return out.String(), err
}

// TestLayout: the file follows the layout for every order of tensors and every spool.
func TestLayout(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d := &laidOut{layout: backwards}
	for _, order := range []string{"c e b a", "e c b a", "a b e c", "b e a c", "a e c b"} {
		for _, spool := range []Spool{SpoolFile, SpoolMemory} {
			if out, err := streamed(d, spool, order); out != backwardsFile || err != nil {
				t.Errorf("%s, spool %d: %q, %v", order, spool, out, err)
			}
		}
		path := filepath.Join(t.TempDir(), "m.toy")
		c := toyOptions(d)
		w, err := Create(path, threeTensors(), c)
		if err == nil {
			err = writeInOrder(w, order)
		}
		if b, _ := os.ReadFile(path); string(b) != backwardsFile || err != nil {
			t.Errorf("%s, to a file: %q, %v", order, b, err)
		}
	}
	wantFiles(t, os.Getenv("TMPDIR"), map[string]string{})
}

// TestLayoutLate: parts that depend on the data are written last and prevent streaming; they must lie
// within the file.
func TestLayoutLate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	part := driver.Part{}
	for kind, want := range map[driver.Kind]uint64{
		driver.XXH64: xxhash.Sum64([]byte("AAA")), driver.CRC32: uint64(tensor.CRC32([]byte("AAA"))), driver.CRC32C: uint64(tensor.UpdateCRC32C(0, []byte("AAA"))),
		driver.Adler32: uint64(tensor.UpdateAdler32(1, []byte("AAA"))), driver.NoSum: 0,
	} {
		d := &laidOut{layout: func(p *schema.Schema) (*driver.Layout, error) {
			l, err := backwards(p)
			l.Sums, l.Late = kind, func(sums []uint64) ([]driver.Part, error) {
				if len(sums) != 4 || sums[0] != want {
					t.Errorf("%v: sums %x, want %x", kind, sums, want)
				}
				return []driver.Part{part}, nil
			}
			return l, err
		}}
		for _, tt := range []struct {
			spool Spool
			part  driver.Part
			want  error
		}{
			{SpoolFile, driver.Part{Offset: 4, Bytes: []byte("!!")}, nil},
			{SpoolMemory, driver.Part{Offset: 4, Bytes: []byte("!!")}, nil},
			{SpoolNever, driver.Part{}, driver.ErrSequential},
		} {
			part = tt.part
			out, err := streamed(d, tt.spool, "a c b e")
			if !errors.Is(err, tt.want) || tt.want != nil && out != "" || tt.want == nil && out != "head!!"+backwardsFile[6:] {
				t.Errorf("%v, %+v: %q, %v", kind, tt, out, err)
			}
		}
	}
	wantFiles(t, os.Getenv("TMPDIR"), map[string]string{})
}

// TestLyingLayouts: a layout is checked before anything is written.
func TestLyingLayouts(t *testing.T) {
	for _, tt := range []struct {
		name string
		l    *driver.Layout
	}{
		{"too few offsets", &driver.Layout{Size: 100, Offsets: []int64{0, 10, 20}}},
		{"too many offsets", &driver.Layout{Size: 100, Offsets: []int64{0, 10, 20, 30, 40}}},
		{"overlapping tensors", &driver.Layout{Size: 100, Offsets: []int64{0, 2, 20, 30}}},
		{"same place", &driver.Layout{Size: 100, Offsets: []int64{0, 0, 20, 30}}},
		{"negative", &driver.Layout{Size: 100, Offsets: []int64{-3, 10, 20, 30}}},
		{"behind the end", &driver.Layout{Size: 33, Offsets: []int64{0, 10, 20, 30}}},
		{"empty, behind the end", &driver.Layout{Size: 34, Offsets: []int64{0, 10, 35, 30}}},
		{"overflow", &driver.Layout{Size: 100, Offsets: []int64{0, 10, 20, 1<<63 - 2}}},
	} {
		d := &laidOut{layout: func(*schema.Schema) (*driver.Layout, error) { return tt.l, nil }}
		var out bytes.Buffer
		_, err := NewWriter(&out, threeTensors(), toyOptions(d))
		wantToyError(t, tt.name, err, tensor.ErrSchema, "")
		if out.Len() > 0 {
			t.Errorf("%s: %q was written", tt.name, out.String())
		}
		path := storedToy(t)
		c := toyOptions(d)
		_, err = Create(path, threeTensors(), c)
		wantToyError(t, tt.name, err, tensor.ErrSchema, "")
		untouchedToy(t, path)
	}
}

// TestLyingDirectories: a layout of a directory has a file for each tensor.
func TestLyingDirectories(t *testing.T) {
	files := []string{"a", "b", "empty", "c"}
	parts := make([]driver.Part, 4)
	none := &schema.Schema{}
	for _, tt := range []struct {
		name   string
		l      driver.Layout
		schema *schema.Schema
		want   error
	}{
		{"as it should be", driver.Layout{Files: files, Parts: parts}, threeTensors(), nil},
		{"no tensors", driver.Layout{Files: []string{}}, none, tensor.ErrSchema},
		{"too few parts", driver.Layout{Files: files, Parts: parts[:3]}, threeTensors(), tensor.ErrSchema},
		{"too many files", driver.Layout{Files: files, Parts: parts}, none, tensor.ErrSchema},
		{"too few files", driver.Layout{Files: files[:3], Parts: parts[:3]}, threeTensors(), tensor.ErrSchema},
	} {
		d := &laidOut{layout: func(*schema.Schema) (*driver.Layout, error) { return &tt.l, nil }}
		dir := t.TempDir()
		w, err := Create(filepath.Join(dir, "m"), tt.schema, toyOptions(d))
		if tt.want == nil {
			expect.OK(t, err)
			expect.OK(t, w.Abort())
			continue
		}
		wantToyError(t, tt.name, err, tt.want, "")
		wantFiles(t, dir, map[string]string{})
	}
}

// untouchedToy fails the test unless path holds "old" and is alone in its directory.
func untouchedToy(t *testing.T, path string) {
	t.Helper()
	wantFiles(t, filepath.Dir(path), map[string]string{filepath.Base(path): "old"})
}

// TestEncoding: a file whose header depends on the data is assembled first; an encoder that streams is
// not.
func TestEncoding(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, streams := range []bool{false, true} {
		for _, spool := range []Spool{SpoolFile, SpoolMemory, SpoolNever} {
			for _, order := range []string{"a b e c", "c a b e"} {
				d := &encoded{streams: streams}
				out, err := streamed(d, spool, order)
				switch {
				case spool == SpoolNever && (order != "a b e c" || !streams):
					if !errors.Is(err, driver.ErrSequential) {
						t.Errorf("streams %v, %s with SpoolNever: %v", streams, order, err)
					}
				case streams && (out != "4AAABBCCCC" || err != nil):
					t.Errorf("streams, %s, spool %d: %q, %v", order, spool, out, err)
				case err != nil || len(out) != 10 || out[0] != '4':
					t.Errorf("%s, spool %d: %q, %v", order, spool, out, err)
				}
				if len(d.made) != 1 || d.made[0].closed != 1 {
					t.Errorf("the encoder was not closed once")
				}
			}
		}
	}
	wantFiles(t, os.Getenv("TMPDIR"), map[string]string{})
}

// TestCannotWrite: a driver that cannot write is an error.
func TestCannotWrite(t *testing.T) {
	_, err := NewWriter(io.Discard, nil, toyOptions(&toyWriter{}))
	wantToyError(t, "a format that cannot be written", err, tensor.ErrUnsupported, "")
}

// TestWriterFailures: whichever part fails, the old file stays, nothing else is left, the encoder is
// released once, and later calls return the error.
func TestWriterFailures(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	good := func(w *Writer) error { return writeInOrder(w, "a b e c") }
	one := func(data string) func(w *Writer) error {
		return func(w *Writer) error { return w.WriteTensor("a", strings.NewReader(data)) }
	}
	for _, tt := range []struct {
		name   string
		d      encoded
		ctx    context.Context
		run    func(w *Writer) error
		want   error
		closes int
	}{
		{name: "Encode", d: encoded{encodeErr: errMine}, want: errMine},
		{name: "canceled before", ctx: canceled, want: context.Canceled, closes: 1},
		{name: "Tensor", d: encoded{tensorErr: errMine}, run: good, want: errMine, closes: 1},
		{name: "data left", d: encoded{leave: true}, run: good, want: tensor.ErrTruncated, closes: 1},
		{name: "Finish", d: encoded{finishErr: errMine}, run: good, want: errMine, closes: 1},
		{name: "missing tensor", run: func(w *Writer) error { return w.Close() }, want: tensor.ErrSchema, closes: 1},
		{name: "short", run: one("AA"), want: tensor.ErrTruncated, closes: 1},
		{name: "long", run: one("AAAA"), want: tensor.ErrShape, closes: 1},
		{name: "abort", run: func(w *Writer) error { return errors.Join(w.Abort(), w.Close()) }, want: tensor.ErrAborted, closes: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, path := tt.d, storedToy(t)
			c := toyOptions(&d)
			if tt.ctx != nil {
				c.Context = tt.ctx
			}
			w, err := Create(path, threeTensors(), c)
			if err == nil && tt.run != nil {
				err = tt.run(w)
				for _, err := range []error{w.WriteTensor("a", strings.NewReader("AAA")), w.Close()} {
					if !errors.Is(err, tensor.ErrAborted) {
						t.Errorf("after the failure: %v", err)
					}
				}
				if err := w.Abort(); err != nil {
					t.Errorf("Abort after the failure: %v", err)
				}
			}
			var e *tensor.Error
			if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Format != "toy" {
				t.Errorf("%v, want %v", err, tt.want)
			}
			closes := 0
			for _, e := range d.made {
				closes += e.closed
			}
			if closes != tt.closes {
				t.Errorf("the encoder was closed %d times, want %d", closes, tt.closes)
			}
			untouchedToy(t, path)
		})
	}
}

// TestWriteProgress: each byte is counted once, also for stored tensors.
func TestWriteProgress(t *testing.T) {
	type report struct {
		Done, Total int64
		Name        string
	}
	var got []report
	c := toyOptions(&laidOut{layout: backwards})
	c.Spool = SpoolMemory
	c.Progress = func(d, n int64, s string) { got = append(got, report{d, n, s}) }
	w, err := NewWriter(io.Discard, threeTensors(), c)
	if err == nil {
		err = writeInOrder(w, "a b e c")
	}
	if d := cmp.Diff([]report{{3, 9, "a"}, {5, 9, "b"}, {9, 9, "c"}}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
}

// wantToyError fails the test unless err is a *tensor.Error of the toy format that wraps want, with the
// field.
func wantToyError(t *testing.T, what string, err, want error, field string) {
	t.Helper()
	var e *tensor.Error
	if !errors.Is(err, want) || !errors.As(err, &e) {
		t.Errorf("%s: %v, want a *tensor.Error around %v", what, err, want)
		return
	}
	if e.Format != "toy" || e.Field != field {
		t.Errorf("%s: %v has format %q and field %q, want %q", what, err, e.Format, e.Field, field)
	}
}

// storedToy writes a file "old" into a new directory.
func storedToy(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.toy")
	expect.OK(t, os.WriteFile(path, []byte("old"), 0o644))
	return path
}

// TestWriterForgets: the memory of a tensor is free once it is written, also while the Writer is in use.
func TestWriterForgets(t *testing.T) {
	for name, write := range map[string]func(w *Writer, in tensor.Info, b []byte) error{
		"reader": func(w *Writer, in tensor.Info, b []byte) error { return w.WriteTensor(in.Name, bytes.NewReader(b)) },
		"view": func(w *Writer, in tensor.Info, b []byte) error {
			v, err := tensor.FromInfo(in, b)
			if err != nil {
				return err
			}
			return w.WriteView(v)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Create(filepath.Join(t.TempDir(), "x.toy"), threeTensors(), toyOptions(&encoded{}))
			expect.OK(t, err)
			defer w.Abort()
			in := w.schema.Tensors[0]
			b := make([]byte, 4096)[:in.Size] // no tiny object, which would share memory
			p := weak.Make(&b[0])
			expect.OK(t, write(w, in, b))
			runtime.GC()
			if p.Value() != nil {
				t.Error("the Writer keeps the data")
			}
			runtime.KeepAlive(w)
		})
	}
}
