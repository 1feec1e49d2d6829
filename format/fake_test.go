package format

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// fake is a format for the tests of this package: its magic, a count, name and
// size of each tensor in a byte each, then the uint8 data. What goes wrong is
// said by the fields.
type fake struct {
	name      string
	magic     string
	verifyErr error // of the good will
	metaErr   error // of Metadata

	verified int
	layouts  int
}

// fakeDirs is a fake format that keeps models in directories too.
type fakeDirs struct{ *fake }

func (f *fake) Describe() driver.Description {
	return driver.Description{Name: f.name, Extensions: []string{"." + f.name}}
}

func (f *fake) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(f.magic)) }

// fakeOpen is an open file of a fake format.
type fakeOpen struct{ fake *fake }

func (m *fakeOpen) Metadata() (schema.Metadata, error) {
	return schema.Metadata{{Key: "kind", Value: "fake"}}, m.fake.metaErr
}

// Sums implements driver.Parsed: nothing covers the list, and good will the first tensor.
func (m *fakeOpen) Sums() []driver.Sum {
	return []driver.Sum{{Name: "list"}, {Name: "first", By: "good will", Hidden: true, Check: m.check}}
}

// SumsOf implements driver.Parsed.
func (m *fakeOpen) SumsOf(i int) (from, to int) {
	if i == 0 {
		return 1, 2
	}
	return 0, 0
}

func (m *fakeOpen) check(driver.Verification) error {
	m.fake.verified++
	return m.fake.verifyErr
}

func (f *fake) Parse(src driver.Source, x *driver.Index, _ *driver.ParseOptions) (*driver.Parsed, error) {
	return f.parse(src, 0, x)
}

// parse lists the tensors of a file that has this number.
func (f *fake) parse(src driver.Source, s driver.Space, x *driver.Index) (*driver.Parsed, error) {
	b, err := driver.Prefix(src, src.Size())
	if err != nil {
		return nil, err
	}
	c := wire.NewRecord("", b, 0) // the format's name is filled in by the engine
	c.Text("magic", f.magic, ErrMagic)
	if c.Err() != nil {
		return nil, c.Err()
	}
	x.Version = "1"
	var list []driver.Tensor
	for range c.U8("count") {
		name := c.Bytes("name", uint64(c.U8("name length")))
		size := int64(c.U8("size"))
		list = append(list, driver.Tensor{Name: name, DType: tensor.Uint8, Shape: tensor.Shape{size}, Space: s, Size: size})
	}
	for _, t := range list {
		t.Offset = c.Offset()
		c.Bytes("data", uint64(t.Size))
		x.Add(&t)
	}
	m := &fakeOpen{f}
	return &driver.Parsed{Own: m, LazyMetadata: m.Metadata, Sums: m.Sums, SumsOf: m.SumsOf}, c.Err()
}

func (f fakeDirs) ParseDir(dir driver.Dir, x *driver.Index, _ *driver.ParseOptions) (*driver.Parsed, error) {
	src, s, err := dir.Open("model")
	if err != nil {
		return nil, err
	}
	return f.parse(src, s, x)
}

func (f *fake) Losses(*schema.Schema, *driver.LayoutOptions, *schema.LossList) error { return nil }

func (f *fake) Layout(p *schema.Schema, _ *driver.LayoutOptions) (*driver.Layout, error) {
	f.layouts++
	var w wire.Buffer
	w.Str(f.magic)
	w.U8(uint8(len(p.Tensors)))
	for _, t := range p.Tensors {
		w.U8(uint8(len(t.Name)))
		w.Str(t.Name)
		w.U8(uint8(t.Size))
	}
	l := &driver.Layout{Size: int64(len(w)), Parts: []driver.Part{{Bytes: w}}}
	for _, t := range p.Tensors {
		l.Offsets = append(l.Offsets, l.Size)
		l.Size += t.Size
	}
	return l, nil
}

// fakeSchema has two tensors, and fakeFile is what becomes of it.
func fakeSchema() *schema.Schema {
	return &schema.Schema{Tensors: []tensor.Info{
		{Name: "a", DType: tensor.Uint8, Shape: tensor.Shape{3}},
		{Name: "bb", DType: tensor.Uint8, Shape: tensor.Shape{2, 1}},
	}}
}

const fakeFile = "FAKE\x02\x01a\x03\x02bb\x02AAABB"

var fakeData = map[string]string{"a": "AAA", "bb": "BB"}

// feedFake writes both tensors and closes.
func feedFake(w *Writer) error {
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
	dirFake   = fakeDirs{&fake{name: "fakedir", magic: "DIRECTORY"}}
	errMine   = errors.New("mine")
)

func init() {
	for _, d := range []driver.Driver{tieTwo, plainFake, dirFake, tieOne} {
		Register(asFormat{d})
	}
}

// errIs demands that an error be one of this package's and wrap want.
func errIs(t *testing.T, what string, err, want error) {
	t.Helper()
	var e *tensor.Error
	if !errors.Is(err, want) || !errors.As(err, &e) {
		t.Errorf("%s: %v, want a *tensor.Error around %v", what, err, want)
	}
}
