//go:build !weightmap_debug

package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// writing is a way to write a model.
type writing struct {
	format, name string
	options      any // of the format
	single       bool
}

var writings = []writing{
	{"mobi", "plain", nil, false},
	{"mobi", "gzip", &mobi.WriteOptions{Gzip: 6}, false},
	{"mag", "v1", nil, false},
	{"mag", "snapshot", &mag.WriteOptions{Snapshot: true}, false},
	{"tsr", "file", nil, true},
	{"tsr", "directory", nil, false},
	{"mle", "plain", nil, false},
	{"mle", "lz4", &mle.WriteOptions{Compression: mle.MethodLZ4}, false},
	{"mle", "zstd chunks", &mle.WriteOptions{Compression: mle.MethodZstd, Chunked: true, ChunkSize: 1024}, false},
	{"mle", "int8", &mle.WriteOptions{Compression: mle.MethodInt8}, false},
	{"mle", "encrypted", &mle.WriteOptions{Key: secret}, false},
	{"mle", "signed", &mle.WriteOptions{Signer: edKey}, false},
	{"wia", "plain", nil, false},
	{"wia", "compressed", &wia.WriteOptions{Compression: wia.Zstd, CompressTensor: func(tensor.Info) wia.Compression { return wia.Gzip }}, false},
	{"wia", "zstd", &wia.WriteOptions{CompressTensor: func(tensor.Info) wia.Compression { return wia.Zstd }}, false},
	{"wia", "encrypted", &wia.WriteOptions{Key: secret}, false},
	{"wia", "signed", &wia.WriteOptions{Signer: ecKey}, false},
	{"wia", "external", &wia.WriteOptions{ExternalFrom: 1, External: "below/w.data"}, false},
	{"safetensors", "plain", nil, false},
	{"gguf", "plain", &gguf.WriteOptions{}, false},
	{"npy", "array", nil, true},
	{"npz", "archive", nil, false},
	{"onnx", "plain", nil, false},
	{"onnx", "external", &onnx.WriteOptions{ExternalFrom: 1}, false},
}

// plan returns what is written: small, or with a tensor of some megabytes.
func (w *writing) plan(large bool) (*format.Plan, [][]byte) {
	p, data := plan(0, false)
	if large {
		p.Tensors[3].Shape = tensor.Shape{5 << 18}
		data[3] = make([]byte, 5<<20)
	}
	if w.single {
		return &format.Plan{Tensors: p.Tensors[3:]}, data[3:]
	}
	return p, data
}

// place is where a model is written: out, or path.
type place struct {
	out      io.Writer
	path     string
	spool    format.Spool
	ctx      context.Context
	backward bool // the last tensor comes first
}

func (w *writing) begin(p *format.Plan, to place) (*format.Writer, error) {
	o := &format.WriteOptions{AcceptLoss: everything, NoSync: true, Spool: to.spool, Format: w.options, Context: to.ctx}
	if to.out != nil {
		return format.NewWriter(w.format, to.out, p, o)
	}
	return format.Create(w.format, to.path, p, o)
}

// faults of readers of tensors.
var faultyReaders = map[string]func(b []byte) io.Reader{
	"an error":               func([]byte) io.Reader { return ill{err: errSick} },
	"an error in the middle": func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b[:len(b)/2]), ill{err: errSick}) },
	"an error at the end":    func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b), ill{err: errSick}) },
	"a panic":                func([]byte) io.Reader { return ill{} },
	"a panic in the middle":  func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b[:len(b)/2]), ill{}) },
	"a panic at the end":     func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b), ill{}) },
	"too few":                func(b []byte) io.Reader { return bytes.NewReader(b[:len(b)-1]) },
	"too few, streamed":      func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b[:len(b)-1])) },
	"too many":               func(b []byte) io.Reader { return bytes.NewReader(append(bytes.Clone(b), 0)) },
	"too many, streamed":     func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(append(bytes.Clone(b), 0))) },
	"nothing":                func([]byte) io.Reader { return bytes.NewReader(nil) },
	"nothing for ever":       func([]byte) io.Reader { return silent{} },
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// ill is a reader that fails, or panics.
type ill struct{ err error }

func (i ill) Read([]byte) (int, error) {
	if i.err == nil {
		panic(errSick)
	}
	return 0, i.err
}

// drain is an io.Writer that fails at a call.
type drain struct {
	left int
	how  func(p []byte) (int, error)
}

func (d *drain) Write(p []byte) (int, error) {
	if d.left--; d.left >= 0 {
		return len(p), nil
	}
	return d.how(p)
}

var faultyWriters = map[string]func(p []byte) (int, error){
	"an error":      func([]byte) (int, error) { return 0, errSick },
	"a panic":       func([]byte) (int, error) { panic(errSick) },
	"less":          func(p []byte) (int, error) { return len(p) / 2, nil },
	"less, and why": func(p []byte) (int, error) { return len(p) / 2, errSick },
	"nothing":       func(p []byte) (int, error) { return 0, nil },
	"more":          func(p []byte) (int, error) { return len(p) + 1, nil },
	"a negative":    func(p []byte) (int, error) { return -1, nil },
}

// expected are the errors of what goes wrong here.
var expected = []error{errSick, errStopped, context.Canceled, format.ErrTruncated, format.ErrShape, io.ErrNoProgress, io.ErrShortWrite}

// listed is all that is in a directory.
func listed(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err == nil && d.Type().IsRegular() {
			b, e := os.ReadFile(path)
			all[name], err = string(b), e
		} else {
			all[name] = "directory"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// trial is a way to write a model, over another one.
type trial struct {
	*testing.T
	*writing
	dir, path string
	old       map[string]string // what is in dir
	before    map[string]int    // what the process holds
	p         *format.Plan
	data      [][]byte
	backward  bool
}

// TestNothingLeftOfWriters: whatever goes wrong while a model is written, the caller learns it on its own
// goroutine, the old model stays, and nothing else: no file, open or not, and no goroutine.
func TestNothingLeftOfWriters(t *testing.T) {
	for i := range writings {
		w := &writings[i]
		if thinly() && i%4 != 3 { // none with Zstandard, whose encoders take megabytes each
			continue
		}
		if w.format == "tsr" && w.name == "directory" {
			continue // a directory with files in it is refused before anything is written
		}
		t.Run(w.format+" "+w.name, func(t *testing.T) {
			x := &trial{T: t, writing: w, dir: t.TempDir()}
			x.path = filepath.Join(x.dir, "m."+w.format)
			to := place{path: x.path}
			x.p, x.data = w.plan(false)
			out, err := w.begin(x.p, to)
			if err == nil {
				err = x.finish(out, -1, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			x.old, x.before = listed(t, x.dir), held(t)
			x.to("a path", to)
			for spool := range format.SpoolNever + 1 {
				to := place{out: io.Discard, spool: spool}
				if out, err := w.begin(x.p, to); err == nil {
					if errors.Is(x.finish(out, -1, nil), driver.ErrSequential) {
						continue // the file has another order than the plan
					}
					x.to(fmt.Sprint("a stream, spool ", spool), to)
					x.writers(to)
				}
			}
		})
	}
}

// to has all go wrong that can with one place to write to.
func (x *trial) to(where string, to place) {
	x.readers(where, to)
	if to.spool != format.SpoolNever && !thinly() {
		to.backward = true
		x.readers(where+", backward", to)
	}
	for n := range len(x.data) + 1 {
		x.check(fmt.Sprintf("%s, aborted after %d", where, n), to, func(out *format.Writer) error {
			for i := range n {
				if err := out.WriteTensor(x.p.Tensors[i].Name, bytes.NewReader(x.data[i])); err != nil {
					return err
				}
			}
			return errors.Join(out.Abort(), errStopped)
		})
	}
	for looks := int64(0); ; looks++ {
		to.ctx = endingAfter(looks)
		if !x.check(fmt.Sprintf("%s, canceled after %d looks", where, looks), to, func(out *format.Writer) error { return x.finish(out, -1, nil) }) {
			x.old = listed(x.T, x.dir)
			return
		}
	}
}

// readers has readers of tensors fail, also of one that is larger than what is collected before it is written.
func (x *trial) readers(where string, to place) {
	for name, faulty := range faultyReaders {
		fails := func(at int) {
			when := fmt.Sprintf("%s, tensor %d, %s", where, at, name)
			if !x.check(when, to, func(out *format.Writer) error { return x.finish(out, at, faulty(x.data[at])) }) {
				x.Errorf("%s: no error", when)
			}
		}
		for at := range x.data {
			fails(at)
		}
		if strings.HasSuffix(name, "in the middle") && !to.backward {
			p, data := x.p, x.data
			x.p, x.data = x.plan(true)
			fails(len(data) - 1)
			x.p, x.data = p, data
		}
	}
}

// writers has the io.Writer fail at each call.
func (x *trial) writers(to place) {
	for name, faulty := range faultyWriters {
		for left := 0; ; left++ {
			to.out = &drain{left, faulty}
			when := fmt.Sprintf("a stream, spool %d, the writer gives %s at call %d", to.spool, name, left)
			if !x.check(when, to, func(out *format.Writer) error { return x.finish(out, -1, nil) }) {
				break
			}
		}
	}
}

// finish writes all tensors, that at position at from r.
func (x *trial) finish(out *format.Writer, at int, r io.Reader) error {
	for i := range x.data {
		if x.backward {
			i = len(x.data) - 1 - i
		}
		from := io.Reader(io.MultiReader(bytes.NewReader(x.data[i])))
		if i == at {
			from = r
		}
		if err := out.WriteTensor(x.p.Tensors[i].Name, from); err != nil {
			return err
		}
	}
	return out.Close()
}

// check begins to write and runs f, which fails or panics. It reports whether that happened.
func (x *trial) check(when string, to place, f func(out *format.Writer) error) (failed bool) {
	x.Helper()
	x.backward = to.backward
	var out *format.Writer
	err := recovered(func() (err error) {
		if out, err = x.begin(x.p, to); err == nil {
			err = f(out)
		}
		return err
	})
	if err == nil {
		return false
	}
	if out != nil {
		x.over(out, when)
	}
	nothingLeft(x.T, x.before, when)
	if d := cmp.Diff(x.old, listed(x.T, x.dir)); d != "" {
		x.Fatalf("%s: %v (-want +got):\n%s", when, err, d)
	}
	known := func(e error) bool { return errors.Is(err, e) }
	if !slices.ContainsFunc(expected, known) && !strings.Contains(err.Error(), "invalid write result") { // of io.Copy
		x.Errorf("%s: %v", when, err)
	}
	return true
}

// over demands of a writer that failed that it is over.
func (x *trial) over(out *format.Writer, when string) {
	x.Helper()
	for range 2 {
		if err := out.Close(); !errors.Is(err, format.ErrAborted) {
			x.Errorf("%s: Close: %v", when, err)
		}
		if err := out.WriteTensor(x.p.Tensors[0].Name, bytes.NewReader(nil)); !errors.Is(err, format.ErrAborted) {
			x.Errorf("%s: WriteTensor: %v", when, err)
		}
		if err := out.Abort(); err != nil {
			x.Errorf("%s: Abort: %v", when, err)
		}
	}
}

var errStopped = errors.New("stopped")
