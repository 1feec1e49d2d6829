package mobi

import (
	"context"
	"io"
	"sort"

	"github.com/weightmap/weightmap/format/driver"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/gzip"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/internal/wire"
)

// packed returns constant i, which is a gzip member, and its bytes.
func (f *parsed) packed(i int) (*member, []byte, error) {
	n := sort.Search(len(f.members), func(n int) bool { return f.members[n].tensor >= i })
	m := &f.members[n]
	b, err := f.src.Slice(m.offset, m.stored)
	return m, b, err
}

// load implements driver.Parsed.
func (f *parsed) load(i int) ([]byte, error) {
	m, b, err := f.packed(i)
	if err != nil {
		return nil, err
	}
	out, err := codecs.Data(gzip.Codec, b, f.index.Size(i), f.account)
	return out, f.locate(m, err)
}

// stream implements driver.Parsed.
func (f *parsed) stream(i int, w io.Writer) error {
	m, b, err := f.packed(i)
	if err != nil {
		return err
	}
	return f.locate(m, codecs.DataTo(w, gzip.Codec, b, f.index.Size(i), f.account))
}

// locate adds the constant's name and offset to an error of the decompressor, if any.
func (f *parsed) locate(m *member, err error) error {
	if err == nil {
		return nil
	}
	return wire.Error(formatName, "constant "+f.index.Name(m.tensor), m.offset, err)
}

// packer writes a file with compressed constants. The offsets of all constants
// depend on which of them shrink, so it stores them in the target, behind the end
// of the largest possible file, until all have been compressed.
type packer struct {
	doc    *document
	target driver.Target
	end    int64 // end of the used part of the target
}

// pack implements driver.Layout.Encode.
func (d *document) pack(t driver.Target) (driver.Encoder, error) {
	if t.Sequential() {
		return nil, wire.Refuse(formatName, "compression", "%w", driver.ErrSequential)
	}
	end := int64(maxFileSize)
	plain, err := d.layout()
	if err == nil { // else the file may still be small enough if it is compressed
		end = plain.Size + alignment
	}
	return &packer{doc: d, target: t, end: end}, nil
}

// Tensor implements driver.Encoder. It stores constant i uncompressed and, behind
// that, compressed, and keeps the smaller of the two.
func (p *packer) Tensor(i int, in driver.Input) error {
	plain := io.NewOffsetWriter(p.target, p.end)
	packed := io.NewOffsetWriter(p.target, p.end+in.Size())
	z, err := gzip.Codec.NewWriter(packed, p.doc.o.Level, in.Size())
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(z, plain), in)
	if err != nil {
		return err
	}
	err = z.Close()
	if err != nil {
		return err
	}
	s := &p.doc.stored[i]
	s.at = p.end
	p.end += in.Size()
	size, _ := packed.Seek(0, io.SeekCurrent)
	if size < in.Size() {
		*s = stored{size: size, gzip: true, at: p.end}
		p.end += size
	}
	return nil
}

// Finish implements driver.Encoder. It moves the constants to their final offsets.
func (p *packer) Finish() error {
	l, err := p.doc.layout()
	if err != nil {
		return err
	}
	e := target.Located(p.target, l)
	for i, s := range p.doc.stored {
		stored := io.NewSectionReader(p.target, s.at, s.size)
		err := e.Tensor(i, target.NewInput(context.Background(), stored, s.size))
		if err != nil {
			return err
		}
	}
	return e.Finish()
}
