package wia

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// payload is the content of a block, decrypted and decompressed. It is in private memory, so that
// it cannot change after it is checked. Only a tensor block that is not encrypted is in the file.
type payload struct {
	data   []byte // nil in the file
	size   int64
	inFile bool
	base   int64 // of the content in the file, -1 if the block is compressed or encrypted
	at     int64 // of the block in the file
}

// text returns the content, which must be in memory.
func (p *payload) text() string { return memory.String(p.data) }

// offset returns the offset in the file of a byte of the block, or of the block if it is compressed
// or encrypted.
func (p *payload) offset(at int64) int64 {
	if p.base < 0 {
		return p.at
	}
	return p.base + at
}

// place adds the field and its offset in the file to an error about a block, which is a message of
// type t in memory.
func (p *payload) place(b block, t messages.Type, err error) error {
	e, ok := err.(*messages.Error)
	if !ok {
		return p.locate(err)
	}
	name := messages.Join(b.String(), table.Path(t, p.text(), e))
	return p.locate(&messages.Placed{Field: name, At: e.At + e.Skip, Err: e.Err})
}

// locate turns an error that names its field into one with its offset in the file.
func (p *payload) locate(err error) error {
	e, ok := err.(*messages.Placed)
	if !ok {
		return err
	}
	cause := e.Err
	if p.base < 0 {
		cause = fmt.Errorf("%w (at byte %d of the decoded block)", cause, e.At)
	}
	return wire.Error(formatName, e.Field, p.offset(e.At), cause)
}

// loadBlock reads the payload of a block, except for a tensor block that stays in the file.
func (p *parser) loadBlock(b block) (*payload, error) {
	s := p.f.hdr.blocks[b]
	to := &p.f.payloads[b]
	cipher := p.cipher
	base := p.f.hdr.blocks[b].off
	fail := func(field string, err error) (*payload, error) {
		return nil, wire.Error(formatName, field, s.off, err)
	}
	if b == signatureBlock {
		cipher = nil
	}
	if b == tensorBlock && cipher == nil {
		*to = payload{size: s.size, inFile: true, base: s.off, at: s.off}
		return to, nil
	}
	if b != tensorBlock {
		err := p.f.memory.Structure(s.size)
		if err != nil {
			return fail(b.String()+"_size", err)
		}
	}
	err := p.f.memory.Reserve(s.size)
	if err != nil {
		return fail(b.String(), err)
	}
	data, err := p.readBlock(b, cipher)
	if err != nil {
		return nil, err
	}
	if cipher != nil {
		base = -1
	}
	z := codecs[p.f.hdr.compression]
	if z != nil && maxInflated[b] > 0 {
		base = -1
		data, err = codec.Section(z, data, -1, maxInflated[b], p.f.memory)
		p.f.memory.Release(s.size)
		if err != nil {
			return fail(b.String(), err)
		}
	}
	*to = payload{data: data, size: int64(len(data)), base: base, at: s.off}
	return to, nil
}

// readBlock reads the bytes of a block into private memory, and decrypts them unless cipher is nil.
func (p *parser) readBlock(b block, cipher *seal.Cipher) ([]byte, error) {
	s := p.f.hdr.blocks[b]
	if cipher == nil {
		return driver.Private(p.f.src, s.off, s.size)
	}
	data, err := cipher.OpenAt(p.f.src, s.off, s.size, []byte(b.String()))
	_, isPlaced := err.(*tensor.Error)
	if err != nil && !isPlaced {
		err = wire.Error(formatName, b.String(), s.off, err)
	}
	return data, err
}

// payloadOf returns the payload that holds tensor i.
func (f *parsed) payloadOf(i int) *payload { return &f.payloads[f.records[i].block] }

// graph returns the payload of the graph block.
func (f *parsed) graph() *payload { return &f.payloads[graphBlock] }

// section returns the content of a payload, to be read in order. The caller must close it.
func (f *parsed) section(p *payload) *messages.Section {
	if p.inFile {
		return messages.OpenSection(f.src, p.base, p.size)
	}
	return messages.SectionOf(p.text())
}

// packed returns the stored bytes of tensor i and their codec, nil if they are
// not compressed.
func (f *parsed) packed(i int) (data []byte, z *codec.Stream, err error) {
	r := &f.records[i]
	p := f.payloadOf(i)
	switch s := r.data; {
	case s.size == 0:
		return []byte{}, nil, nil // an empty tensor may omit its data
	case p.inFile:
		data, err = f.src.Slice(p.base+s.off, s.size)
	default:
		data = p.data[s.off:s.end():s.end()]
	}
	return data, codecs[r.codec], err
}

// load implements driver.Parsed for tensors that are compressed, or in a block
// that is compressed or encrypted.
func (f *parsed) load(i int) ([]byte, error) {
	data, z, err := f.packed(i)
	switch {
	case err != nil:
		return nil, err
	case z != nil:
		data, err = codec.Data(z, data, f.index.Size(i), f.memory)
		return data, f.badData(i, err)
	case memory.Address(data)%memory.Alignment != 0:
		data = append(memory.Aligned(len(data))[:0], data...)
	}
	return data, nil
}

// stream implements driver.Parsed.
func (f *parsed) stream(i int, w io.Writer) error {
	data, z, err := f.packed(i)
	if err != nil {
		return err
	}
	if z == nil {
		_, err = w.Write(data)
		return err
	}
	return f.badData(i, codec.DataTo(w, z, data, f.index.Size(i), f.memory))
}

// badData adds the name of tensor i to an error about decoding its data.
func (f *parsed) badData(i int, err error) error {
	if err != nil {
		field := fmt.Sprintf("tensor %q.compressed_data", f.index.Name(i))
		err = wire.Error(formatName, field, f.payloadOf(i).offset(f.records[i].data.off), err)
	}
	return err
}
