package format

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// fake is a format for the tests of this package: its magic, a count, name and
// size of each tensor in a byte each, then the uint8 data. What goes wrong is
// said by the fields.
type fake struct {
	name      string
	magic     string
	dirs      bool  // opens directories
	verifyErr error // of Verify
	encodeErr error
	tensorErr error
	finishErr error
	closeErr  error
	leaveData bool // the encoder does not take the data

	closes   int // of encoders
	closed   int // of models
	encoders int
}

func (f *fake) codec() *Codec {
	c := &Codec{
		Name:       f.name,
		Extensions: []string{"." + f.name},
		Detect:     func(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(f.magic)) },
		Parse:      f.parse,
		Encode:     f.encode,
	}
	if f.dirs {
		c.OpenDir = func(dir string, o *Options) (Model, error) {
			return f.parse(mapped.FromBytes([]byte(f.magic+"\x00")), o)
		}
	}
	return c
}

// fakeModel is an open file of a fake format.
type fakeModel struct {
	*catalog.Catalog
	fake *fake
}

func (m *fakeModel) Metadata() Metadata { return Metadata{{"kind", "fake"}} }

func (m *fakeModel) Verify(context.Context, ...VerifyOption) error { return m.fake.verifyErr }

func (m *fakeModel) Close() error { m.fake.closed++; return m.Catalog.Close() }

func (f *fake) parse(r *mapped.Region, o *Options) (Model, error) {
	b, err := r.Prefix(r.Size())
	if err != nil {
		return nil, err
	}
	c := wire.NewCursor("", b, 0) // the format's name is filled in by the opener
	if string(c.Bytes("magic", uint64(len(f.magic)))) != f.magic {
		return nil, c.Failf("magic", 0, ErrMagic, "% x", b[:min(len(b), 4)])
	}
	m := &fakeModel{catalog.New(r, f.name, "1", 0, 0, 0), f}
	var list []catalog.Tensor
	for range c.U8("count") {
		name := c.Bytes("name", uint64(c.U8("name length")))
		size := int64(c.U8("size"))
		list = append(list, catalog.Tensor{Name: name, DType: tensor.Uint8, Shape: tensor.Shape{size}, Size: size})
	}
	for _, t := range list {
		t.Offset = c.Offset()
		c.Bytes("data", uint64(t.Size))
		m.Add(&t)
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	return m, nil
}

// fakeEncoder writes a file of a fake format from front to back, or in any
// order where the target allows that.
type fakeEncoder struct {
	fake *fake
	t    sink.Target
	offs []int64
}

func (f *fake) encode(t sink.Target, p *Plan, _ *WriteOptions) (Encoder, error) {
	if f.encodeErr != nil {
		return (*fakeEncoder)(nil), f.encodeErr
	}
	f.encoders++
	var w wire.Buffer
	w.Str(f.magic)
	w.U8(uint8(len(p.Tensors)))
	for _, t := range p.Tensors {
		w.U8(uint8(len(t.Name)))
		w.Str(t.Name)
		w.U8(uint8(t.Size))
	}
	e := &fakeEncoder{fake: f, t: t}
	at := int64(w.Len())
	for _, t := range p.Tensors {
		e.offs = append(e.offs, at)
		at += t.Size
	}
	_, err := t.WriteAt(w.Bytes(), 0)
	return e, err
}

func (e *fakeEncoder) Tensor(i int, in *sink.Input) error {
	if e.fake.leaveData {
		return nil
	}
	if err := in.CopyTo(e.t, e.offs[i]); err != nil {
		return err
	}
	return e.fake.tensorErr
}

func (e *fakeEncoder) Finish() error { return e.fake.finishErr }

func (e *fakeEncoder) Close() error { e.fake.closes++; return e.fake.closeErr }

// fakePlan has two tensors, and fakeFile is what becomes of it.
func fakePlan() *Plan {
	return &Plan{Tensors: []tensor.Info{
		{Name: "a", DType: tensor.Uint8, Shape: tensor.Shape{3}},
		{Name: "bb", DType: tensor.Uint8, Shape: tensor.Shape{2, 1}},
	}}
}

const fakeFile = "FAKE\x02\x01a\x03\x02bb\x02AAABB"

var fakeData = map[string]string{"a": "AAA", "bb": "BB"}

// feedFake writes both tensors and closes.
func feedFake(w Writer) error {
	for _, name := range []string{"a", "bb"} {
		if err := w.WriteTensor(name, strings.NewReader(fakeData[name])); err != nil {
			return err
		}
	}
	return w.Close()
}

var (
	plainFake = &fake{name: "fake", magic: "FAKE"}
	tieOne    = &fake{name: "tie1", magic: "TIE"}
	tieTwo    = &fake{name: "tie2", magic: "TIE"}
	dirFake   = &fake{name: "fakedir", magic: "DIRECTORY", dirs: true}
	errMine   = errors.New("mine")
)

func init() {
	for _, f := range []*fake{tieTwo, plainFake, dirFake, tieOne} {
		Register(f.codec())
	}
}

// errIs demands that an error be one of this package's and wrap want.
func errIs(t *testing.T, what string, err, want error) {
	t.Helper()
	var e *Error
	if !errors.Is(err, want) || !errors.As(err, &e) {
		t.Errorf("%s: %v, want a *format.Error around %v", what, err, want)
	}
}

var _ io.Closer = (*fakeEncoder)(nil)
