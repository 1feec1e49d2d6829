package wia

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// likeness is what Rewrite carries over from a file beyond a plan: unknown
// fields of all messages, doc strings, properties, the text of the metadata.
type likeness struct {
	f         *File
	metadata  []byte
	graph     *Graph
	tail      []byte // unknown fields of the tensor block
	signature []byte // unknown fields of the signature block
}

// Rewrite writes f to path with other options: another compression, a key, a
// signature, external data. Everything the file says is kept, unknown fields
// included, where format.Copy keeps what the formats have in common; only
// checksums and signature are made anew. Tensors that initializers of the graph
// carry move to the tensor block. o.Graph and o.Describe are not looked at.
// External data become part of the file unless o.ExternalFrom says otherwise. A
// nil o writes everything plainly, unsigned and not encrypted.
func Rewrite(path string, f *File, o *WriteOptions) error {
	c := o.withDefaults()
	c.dir, c.base = filepath.Dir(path), filepath.Base(path)
	return f.rewrite(c, func(p *format.Plan) (format.Writer, error) { return c.codec().CreateFile(path, p, &c.WriteOptions) })
}

// RewriteTo is Rewrite to w.
func RewriteTo(w io.Writer, f *File, o *WriteOptions) error {
	c := o.withDefaults()
	return f.rewrite(c, func(p *format.Plan) (format.Writer, error) { return c.codec().NewWriter(w, p, &c.WriteOptions) })
}

func (f *File) rewrite(o *WriteOptions, start func(*format.Plan) (format.Writer, error)) error {
	unpin, err := f.Pin()
	if err != nil {
		return err
	}
	defer unpin()
	if o.like, err = f.likeness(); err != nil {
		return err
	}
	p := &format.Plan{}
	for _, v := range f.Tensors() {
		p.Tensors = append(p.Tensors, v.Info())
	}
	w, err := start(p)
	if err != nil {
		return err
	}
	return format.Copy(w, f)
}

// likeness collects what is carried over.
func (f *File) likeness() (*likeness, error) {
	l := &likeness{f: f, metadata: []byte("{}")}
	message, err := f.decoded()
	if err != nil {
		return nil, err
	}
	err = f.within(func() error {
		if f.meta.size > 0 {
			l.metadata = append([]byte(nil), f.meta.win...)
		}
		if err := f.tensors.unknown(tensorDataMsg, &l.tail); err != nil {
			return err
		}
		if s := f.hdr.blocks[signatureBlock]; s.size > 0 {
			b, err := f.region.Slice(s.off, s.size)
			if err == nil {
				err = (&payload{source: *inMemory(b)}).unknown(signatureBlockMsg, &l.signature)
			}
			if err != nil {
				return err
			}
		}
		if message == nil {
			return nil
		}
		l.graph = message.shallow()
		return l.graph.inline(f)
	})
	return l, err
}

// unknown collects the unknown fields of an outermost message.
func (p *payload) unknown(m *message, out *[]byte) error {
	s := p.reader()
	return s.each(m, field{end: s.size}, func(f field) error {
		if int(f.num) < len(m.fields) && m.fields[f.num].kind != kindUnknown {
			return nil
		}
		return s.keep(out, &f)
	})
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
// new file may lie in another directory.
func (g *Graph) inline(f *File) error {
	if !f.hidden {
		return nil
	}
	// The message is shared: decode another one to change.
	own := &Graph{}
	if err := own.merge(f.graph.reader(), field{end: f.graph.size}); err != nil {
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

// fill gives an item the message that the tensor has in the file.
func (l *likeness) fill(name string, it *item) bool {
	i, ok := l.f.Index(name)
	if !ok {
		return false
	}
	err := l.f.within(func() error { return l.f.record(i, it) })
	it.message.External = nil
	return err == nil
}

// record reads the message of tensor i, without data, and the unknown fields of
// the CompressedTensor around it.
func (f *File) record(i int, it *item) error {
	r := &f.records[i]
	p := f.tensors
	if r.graph {
		p = f.graph
	}
	s, msg := p.reader(), field{start: r.at, end: r.end}
	defer func() { it.message.HasData, it.message.RawData = false, nil }()
	if !r.compressed {
		return it.message.merge(s, msg)
	}
	return s.each(compressedMsg, msg, func(f field) error {
		switch f.num {
		case 1:
			return it.message.merge(s, f)
		case 2, 3, 4:
			return nil
		}
		return s.keep(&it.unknown, &f)
	})
}

// TensorMessage returns what the record of a tensor says beside its data: doc
// string, properties, quantisation as it is written, unknown fields, and where
// external data are. RawData is left out.
func (f *File) TensorMessage(name string) (*Tensor, error) {
	i, ok := f.Index(name)
	if !ok {
		return nil, wire.Errorf(formatName, fmt.Sprintf("tensor %q", name), -1, format.ErrUnsupported, "the file has no such tensor")
	}
	var it item
	err := f.within(func() error { return f.record(i, &it) })
	return &it.message, err
}
