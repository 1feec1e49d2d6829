package wia

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// original is what Rewrite carries over from a file beyond a plan: unknown
// fields of all messages, doc strings, properties, the text of the metadata. That of a plan's
// Native has no file, and no graph when the plan's is another.
type original struct {
	f         *File
	metadata  []byte
	graph     *Graph
	tail      []byte             // unknown fields of the tensor block
	signature []byte             // unknown fields of the signature block
	messages  map[string]*Tensor // of a plan's Native, when there is no file
}

// Rewrite writes f to path with other options: another compression, a key, a
// signature, external data. Everything the file says is kept, unknown fields
// included, where format.Copy keeps what the formats have in common; only
// checksums and signature are made anew. Tensors that initializers of the graph
// carry move to the tensor block. o.Metadata takes the place of the metadata. o.Graph and o.Describe are not looked at.
// External data becomes part of the file unless o.ExternalFrom says otherwise. A
// nil o writes everything plainly, unsigned and not encrypted.
func Rewrite(path string, f *File, o *WriteOptions) error {
	o = o.orDefault()
	return f.rewrite(o, func(c format.Codec, p *format.Plan) (*format.Writer, error) {
		return c.Create(path, p, &o.WriteOptions)
	})
}

// RewriteTo is Rewrite to w.
func RewriteTo(w io.Writer, f *File, o *WriteOptions) error {
	o = o.orDefault()
	return f.rewrite(o, func(c format.Codec, p *format.Plan) (*format.Writer, error) {
		return c.NewWriter(w, p, &o.WriteOptions)
	})
}

// CreateRewrite begins what Rewrite does for a caller that writes the tensors itself: those
// of f, with the bytes that they have. f is not closed before the writer is.
func CreateRewrite(path string, f *File, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return f.startRewrite(o, func(c format.Codec, p *format.Plan) (*format.Writer, error) {
		return c.Create(path, p, &o.WriteOptions)
	})
}

func (f *File) rewrite(o *WriteOptions, start func(format.Codec, *format.Plan) (*format.Writer, error)) error {
	unpin, err := f.Pin()
	if err != nil {
		return err
	}
	defer unpin()
	w, err := f.startRewrite(o, start)
	if err != nil {
		return err
	}
	return format.Copy(w, f.m)
}

func (f *File) startRewrite(o *WriteOptions, start func(format.Codec, *format.Plan) (*format.Writer, error)) (*format.Writer, error) {
	unpin, err := f.Pin()
	if err != nil {
		return nil, err
	}
	defer unpin()
	from := &original{f: f}
	if err := f.m.Do(from.read); err != nil {
		return nil, err
	}
	p := &format.Plan{}
	for _, v := range f.Tensors() {
		p.Tensors = append(p.Tensors, v.Info())
	}
	return start(format.With(fileFormat{opts: *o, from: from}), p)
}

// read collects what is carried over.
func (o *original) read() error {
	f := o.f.f
	if o.metadata = f.meta.Win; len(o.metadata) == 0 {
		o.metadata = []byte("{}")
	}
	if f.signature != nil {
		o.signature = f.signature.unknown
	}
	var err error
	if o.tail, err = f.tail(); err != nil {
		return err
	}
	message, err := f.decoded()
	if message == nil || err != nil {
		return err
	}
	o.graph = message.shallow()
	return o.graph.inline(f)
}

// whole reports whether a file is rewritten: its own messages say everything.
func (o *original) whole() bool { return o != nil && o.f != nil }

// tail returns the unknown fields of the tensor block.
func (f *parsed) tail() (b []byte, err error) {
	s := f.reader(&f.tensors)
	err = s.Each(tensorDataMsg, protobuf.Field{End: s.Size}, func(fl protobuf.Field) error {
		if tensorDataMsg.Known(fl.Num) != nil {
			return nil
		}
		return s.Keep(&b, &fl)
	})
	return b, f.tensors.locate("tensor", err)
}

// shallow copies what inline changes of a graph: the data of its initializers.
func (g *Graph) shallow() *Graph {
	c := *g
	c.Initializers = append([]Tensor(nil), g.Initializers...)
	for i := range c.Initializers {
		t := &c.Initializers[i]
		t.HasData, t.RawData, t.External = false, nil, nil
	}
	return &c
}

// inline replaces external data of tensors within attributes and subgraphs: the
// new file may be in another directory.
func (g *Graph) inline(f *parsed) error {
	if len(f.hidden) == 0 {
		return nil
	}
	// The message is shared: decode another one to change.
	own := &Graph{}
	if err := f.graph.Merge(graphMsg, own, protobuf.Field{End: f.graph.Size}); err != nil {
		return err
	}
	var first error
	own.eachHidden(func(t *Tensor) {
		if t.External == nil || first != nil {
			return
		}
		if t.External.Length > maxAttributeTensor {
			first = wire.Errorf(formatName, "graph", -1, format.ErrLimit, "a tensor of %d bytes inside a graph", t.External.Length)
			return
		}
		data, err := f.attributeView(t).Clone()
		if err == nil {
			t.RawData, err = data.Bytes()
		}
		t.HasData, t.External, first = true, nil, err
	})
	g.Nodes = own.Nodes
	return first
}

// eachHidden calls f for the tensors of attributes and subgraphs.
func (g *Graph) eachHidden(f func(*Tensor)) {
	sub := func(g *Graph) {
		for i := range g.Initializers {
			f(&g.Initializers[i])
		}
		g.eachHidden(f)
	}
	for i := range g.Nodes {
		for j := range g.Nodes[i].Attributes {
			a := &g.Nodes[i].Attributes[j]
			if a.T != nil {
				f(a.T)
			}
			for k := range a.Tensors {
				f(&a.Tensors[k])
			}
			if a.G != nil {
				sub(a.G)
			}
			for k := range a.Graphs {
				sub(&a.Graphs[k])
			}
		}
	}
}

// describe gives an item the message that the tensor has in the file.
func (o *original) describe(name string, it *item) error {
	return o.f.m.Do(func() error {
		i, ok := o.f.f.index.Lookup(name)
		if !ok {
			return format.ErrNotFound
		}
		err := o.f.f.describe(i, it)
		it.message.External = nil
		return err
	})
}

// describe reads the message of tensor i, without data, and the unknown fields of
// the CompressedTensor around it. The message is copied first and checked again,
// since it may be in a file that changed meanwhile.
func (f *parsed) describe(i int, it *item) error {
	r, p := &f.records[i], f.payloadOf(i)
	s, msg := f.reader(p), protobuf.Field{Start: r.at, End: r.end}
	var text []byte
	var err error
	if r.compressed {
		err = s.Each(compressedMsg, msg, func(fl protobuf.Field) error {
			switch d := compressedMsg.Known(fl.Num); {
			case d == nil:
				return s.Keep(&it.unknown, &fl)
			case fl.Num == 1 && fl.Typ == protowire.BytesType:
				return without(s, &text, fl)
			}
			return nil
		})
	} else {
		err = without(s, &text, msg)
	}
	own := protobuf.InMemory(text)
	if err == nil {
		err = own.Check(tensorMsg, 0, own.Size, 2)
	}
	if err == nil {
		own.Checked = true
		err = own.Merge(tensorMsg, &it.message, protobuf.Field{End: own.Size})
	}
	m := &it.message
	if err == nil && (m.Name != f.index.Name(i) || dtypeOf(m.DType) != f.index.DType(i) || !f.index.Shape(i).Equal(m.Dims)) {
		err = protobuf.Defectf(r.at, tensor.ErrCorrupt, "the file was changed since it was opened")
	}
	return p.locate(fmt.Sprintf("tensor %q", f.index.Name(i)), err)
}

// without appends the fields of a Tensor message but for its data.
func without(s *protobuf.Source, out *[]byte, msg protobuf.Field) error {
	return s.Each(tensorMsg, msg, func(fl protobuf.Field) error {
		if fl.Num == rawArm {
			return nil
		}
		return s.Keep(out, &fl)
	})
}
