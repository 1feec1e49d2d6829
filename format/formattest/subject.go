package formattest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// fixed is the creation time of all samples, which makes the output deterministic.
var fixed = time.Date(2024, 2, 29, 12, 34, 56, 0, time.UTC)

// subject is a sample under test.
type subject struct {
	cfg       *Config
	s         *Sample
	verifyErr error                // of verifying the intact file
	write     *format.WriteOptions // with a Format; nil for a file that the writer does not produce
	file      []byte               // as written
	data      map[string][]byte
	want      *snapshot // from the schema, or as read from a file without one
}

// newSubject writes the sample and reads it.
func newSubject(t testing.TB, c *Config, s *Sample) *subject {
	t.Helper()
	o := format.WriteOptions{}
	if s.Write != nil {
		o = *s.Write
	}
	o.Time = fixed
	o.NoSync = true
	if o.Format == nil {
		o.Format = c.Format
	}
	x := &subject{cfg: c, s: s, write: &o, data: map[string][]byte{}}
	fill := s.Data
	if fill == nil {
		fill = Fill
	}
	for _, p := range s.Schema.Tensors {
		p.Size, _ = p.ByteSize()
		x.data[p.Name] = fill(p)
	}
	x.file = x.written(t, nil, format.SpoolMemory)
	x.read(t, s.Schema, x.data)
	return x
}

// foreign reads a file that the writer does not produce.
func foreign(t testing.TB, c *Config, f *File) *subject {
	t.Helper()
	x := &subject{cfg: c, s: &Sample{Name: f.Name, Schema: f.Schema, Options: f.Options}, verifyErr: f.VerifyErr, file: f.Bytes}
	x.read(t, f.Schema, f.Data)
	return x
}

// read reads the file, which was made from a schema, or is known by nothing but its bytes.
func (x *subject) read(t testing.TB, p *schema.Schema, data map[string][]byte) {
	t.Helper()
	m := x.openBytes(t, x.file)
	t.Cleanup(func() { m.Close() })
	var err error
	x.want, err = x.take(m)
	expect.OK(t, err)
	if p != nil {
		x.want = &snapshot{Format: x.cfg.name(), Version: x.want.Version, Schema: x.neutral(p), Data: map[string]string{}}
		for name, b := range data {
			x.want.Data[x.nameOf(name)] = string(b)
		}
	}
}

// refused checks that a file does not open, in every way.
func refused(t *testing.T, c *Config, f *File) {
	x := &subject{cfg: c, s: &Sample{}}
	for _, way := range x.ways(f.Bytes, f.Options) {
		m, err := way.open(t)
		if err == nil {
			m.Close()
			t.Errorf("%s: the file opens, want %v", way.name, f.Want)
			continue
		}
		x.checkErr(t, way.name, err)
		var e *tensor.Error
		if !errors.Is(err, f.Want) || f.Field != "" && errors.As(err, &e) && e.Field != f.Field {
			t.Errorf("%s: %v, want %v at %q", way.name, err, f.Want, f.Field)
		}
	}
}

// options returns the options to write the sample.
func (x *subject) options(spool format.Spool) *format.WriteOptions {
	o := *x.write
	o.Spool = spool
	return &o
}

// written writes the sample, in the given order of names (nil: the schema's), and returns the file.
func (x *subject) written(t testing.TB, order []string, spool format.Spool) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := format.NewWriter(&out, x.s.Schema, x.options(spool))
	if err == nil {
		err = x.feed(w, order, nil)
	}
	expect.OK(t, err)
	return out.Bytes()
}

// feed writes all tensors to w in the given order, nil for the schema's, and closes it.
func (x *subject) feed(w *format.Writer, order []string, d *disk) error {
	defer w.Abort()
	if order == nil {
		order = names(x.s.Schema)
	}
	for _, name := range order {
		if err := w.WriteTensor(name, &failingReader{bytes.NewReader(x.data[name]), d}); err != nil {
			return err
		}
	}
	return w.Close()
}

func names(p *schema.Schema) []string {
	var all []string
	for _, t := range p.Tensors {
		all = append(all, t.Name)
	}
	return all
}

// path returns a file name in a new directory.
func (x *subject) path(t testing.TB) string {
	name := "model"
	if x.cfg.NamesFromPath && x.s.Schema != nil {
		name = x.s.Schema.Tensors[0].Name
	}
	if known := x.cfg.Format.Driver().Describe().Extensions; len(known) > 0 {
		name += known[0]
	}
	return filepath.Join(t.TempDir(), name)
}

// stored writes b to a new file.
func (x *subject) stored(t testing.TB, b []byte) string {
	t.Helper()
	path := x.path(t)
	expect.OK(t, os.WriteFile(path, b, 0o644))
	return path
}

// checking returns the sample's options with another check.
func (x *subject) checking(c format.Check) *format.Options {
	var o format.Options
	if x.s.Options != nil {
		o = *x.s.Options
	}
	o.Check = c
	return &o
}

// openBytes opens b, which must succeed.
func (x *subject) openBytes(t testing.TB, b []byte) *format.Model {
	t.Helper()
	m, err := format.OpenBytes(b, x.s.Options.With(x.cfg.Format))
	expect.OK(t, err)
	return m
}

// verified verifies m. An error that the sample expects counts as success.
func (x *subject) verified(m *format.Model, o *format.VerifyOptions) error {
	_, err := m.Verify(context.Background(), o)
	if x.verifyErr != nil {
		if errors.Is(err, x.verifyErr) {
			return nil
		}
		if err == nil {
			return fmt.Errorf("verified, want %v", x.verifyErr)
		}
	}
	return err
}

// sentinels are the errors that errors about files may wrap.
var sentinels = []error{
	format.ErrMagic, format.ErrVersion, format.ErrTruncated, format.ErrCorrupt, format.ErrChecksum, format.ErrLimit,
	format.ErrUnsupported, format.ErrSignature, format.ErrKey, format.ErrShape, format.ErrDType, format.ErrQuantization,
}

// checkErr checks that an error about a file names the format and a field or offset, and wraps a
// sentinel.
func (x *subject) checkErr(t *testing.T, what string, err error) {
	t.Helper()
	var e *tensor.Error
	switch {
	case !errors.As(err, &e):
		t.Errorf("%s: the error is not a *tensor.Error: %v", what, err)
	case e.Format != x.cfg.name():
		t.Errorf("%s: the error names the format %q: %v", what, e.Format, err)
	case e.Field == "" && e.Offset < 0:
		t.Errorf("%s: the error names neither field nor offset: %v", what, err)
	case !slices.ContainsFunc(sentinels, func(s error) bool { return errors.Is(err, s) }):
		t.Errorf("%s: the error wraps no sentinel: %v", what, err)
	}
}

// survives runs f and reports a panic as a failure of what.
func survives(t *testing.T, what string, f func()) {
	t.Helper()
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if v := recover(); v != nil {
			t.Fatalf("%s: panic: %v\n%s", what, v, debug.Stack())
		}
	}()
	f()
}
