package target

import (
	"bytes"
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/tensor"
)

// ReadView calls f with a reader of the bytes of v. Bytes of a file are read from it, unless the program has used them in
// place: a write from a mapping would map the pages first.
func ReadView(v tensor.View, f func(r io.Reader) error) error {
	ref := (*memory.Ref[tensor.Info])(&v)
	inPlace := func() error {
		return v.Use(func(b []byte) error { return f(bytes.NewReader(b)) })
	}
	if ref.Data() == nil {
		return inPlace()
	}
	info := ref.Info()
	file, off := ref.Owner().File(info)
	if file == nil || pass.IsInPlace(file, off, info.Size) {
		return inPlace()
	}
	err := ref.Owner().Enter(info)
	if err != nil {
		return ref.Owner().Explain(info, err)
	}
	defer ref.Owner().Leave()
	r := &viewReader{ref: ref, at: pass.Range{File: file, Offset: off, Size: info.Size}}
	defer r.pass.Close()
	return f(r)
}

// viewReader reads the rest of a tensor.
type viewReader struct {
	ref  *memory.Ref[tensor.Info]
	pass pass.Pass
	at   pass.Range
}

// Read implements io.Reader.
func (r *viewReader) Read(p []byte) (int, error) {
	if r.at.Size == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.at.Size)]
	err := r.pass.Read(p, r.at, nil)
	if err != nil {
		return 0, r.ref.Owner().Explain(r.ref.Info(), err)
	}
	r.at.Offset += int64(len(p))
	r.at.Size -= int64(len(p))
	return len(p), nil
}
