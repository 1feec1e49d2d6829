package wia

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// payload is the content of a block, decrypted and decompressed. It is in private
// memory, so that it cannot change after it is checked. Only a tensor block that
// is not encrypted stays in the file.
type payload struct {
	protobuf.Source       // Base is -1 if the block is compressed or encrypted
	at              int64 // file offset of the block
}

// offset returns the offset in the file of a byte of the block, or of the block if it is compressed
// or encrypted.
func (p *payload) offset(at int64) int64 {
	if p.Base < 0 {
		return p.at
	}
	return p.Base + at
}

// locate turns a defect into an error with a field and its offset in the file.
func (p *payload) locate(name string, err error) error {
	d, ok := protobuf.InField(name, err).(*protobuf.Defect)
	if !ok {
		return err
	}
	if p.Base < 0 {
		d.Err = fmt.Errorf("%w (at byte %d of the decoded block)", d.Err, d.At)
	}
	return wire.Error(formatName, d.Path, p.offset(d.At), d.Err)
}

// load reads the payload of a block, except for a tensor block that stays in the file.
func (p *parser) load(b block) (*payload, error) {
	s := p.hdr.blocks[b]
	to := &p.payloads[b]
	cipher := p.cipher
	base := p.hdr.blocks[b].off
	fail := func(field string, err error) (*payload, error) { return nil, wire.Error(formatName, field, s.off, err) }
	if b == signatureBlock {
		cipher = nil
	}
	if b == tensorBlock && cipher == nil {
		*to = payload{*protobuf.OpenFile(p.src, s.off, s.size), s.off}
		return to, nil
	}
	if b != tensorBlock {
		if err := p.memory.Structure(s.size); err != nil {
			return fail(b.String()+"_size", err)
		}
	}
	err := p.memory.Reserve(s.size)
	if err != nil {
		return fail(b.String(), err)
	}
	var data []byte
	if cipher == nil {
		data, err = driver.Private(p.src, s.off, s.size)
	} else {
		base = -1
		data, err = cipher.OpenAt(p.src, s.off, s.size, []byte(b.String()))
	}
	if _, located := err.(*tensor.Error); err != nil && (cipher == nil || located) {
		return nil, err
	}
	if z, most := codecs[p.hdr.compression], maxInflated[b]; z != nil && most > 0 && err == nil {
		base = -1
		data, err = codec.Section(z, data, -1, most, p.memory)
		p.memory.Release(s.size)
	}
	if err != nil {
		return fail(b.String(), err)
	}
	*to = payload{*protobuf.InMemory(data), s.off}
	to.Base = base
	return to, nil
}

// payloadOf returns the payload that holds tensor i.
func (f *parsed) payloadOf(i int) *payload { return &f.payloads[f.records[i].block] }

// graph returns the payload of the graph block.
func (f *parsed) graph() *payload { return &f.payloads[graphBlock] }

// reader returns a source over a payload. The caller must close it.
func (f *parsed) reader(p *payload) *protobuf.Source {
	if p.InFile {
		return protobuf.OpenFile(f.src, p.Base, p.Size)
	}
	return protobuf.InMemory(p.Win)
}

// packed returns the stored bytes of tensor i and their codec, nil if they are
// not compressed.
func (f *parsed) packed(i int) (data []byte, z *codec.Stream, err error) {
	r := &f.records[i]
	p := f.payloadOf(i)
	switch s := r.data; {
	case s.size == 0:
		return []byte{}, nil, nil // an empty tensor may omit its data
	case p.InFile:
		data, err = f.src.Slice(p.Base+s.off, s.size)
	default:
		data, err = p.Bytes(s.off, s.end())
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
	if err == nil && z == nil {
		_, err = w.Write(data)
	}
	if err != nil || z == nil {
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
