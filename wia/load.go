package wia

import (
	"io"

	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/memory"
)

// packed returns the stored bytes of tensor i and their codec, nil if they are
// not compressed.
func (f *parsed) packed(i int) (data []byte, z *codec.Stream, err error) {
	r, p := &f.records[i], f.payloadOf(i)
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
		data, err = z.Decompress(data, f.index.Size(i))
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
	window := z.Window(data)
	if err = f.memory.Reserve(window); err == nil {
		defer f.memory.Release(window)
		err = z.Expand(w, data, f.index.Size(i))
	}
	return f.badData(i, err)
}

// badData adds the name of tensor i to an error about decoding its data.
func (f *parsed) badData(i int, err error) error {
	return f.tensorError(i, "compressed_data", f.records[i].data.off, err)
}
