package wia

import (
	"fmt"
	"io"

	"github.com/weightmap/weightmap/internal/protobuf"
)

// Load implements driver.Parsed for tensors that are not in the file as such:
// compressed, or in a block that is compressed or encrypted.
func (f *parsed) Load(i int) ([]byte, error) {
	r := &f.records[i]
	s := &f.stored[r.more]
	if s.start == s.end {
		return []byte{}, nil // an empty tensor may omit its data
	}
	p := f.payloadOf(i)
	data, err := f.slice(p, s.start, s.end)
	if err != nil {
		return nil, err
	}
	if s.codec == None {
		return aligned(data), nil
	}
	z, err := codecOf(s.codec)
	if err == nil {
		data, err = z.Decompress(data, f.index.Size(i))
	}
	return data, f.badData(i, err)
}

// Stream implements driver.Parsed.
func (f *parsed) Stream(i int, w io.Writer) error {
	s := &f.stored[f.records[i].more]
	if s.start == s.end {
		return nil
	}
	data, err := f.slice(f.payloadOf(i), s.start, s.end)
	if err != nil {
		return err
	}
	if s.codec == None {
		_, err = w.Write(data)
		return err
	}
	z, err := codecOf(s.codec)
	if err == nil {
		window := z.Window(data)
		if err = f.memory.Reserve(window); err == nil {
			defer f.memory.Release(window)
			err = z.Expand(w, data, f.index.Size(i))
		}
	}
	return f.badData(i, err)
}

// badData says which tensor cannot be decoded.
func (f *parsed) badData(i int, err error) error {
	if err == nil {
		return nil
	}
	err = protobuf.InField("compressed_data", &protobuf.Defect{At: f.stored[f.records[i].more].start, Err: err})
	return f.payloadOf(i).locate(fmt.Sprintf("tensor %q", f.index.Name(i)), err)
}
