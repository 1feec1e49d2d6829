package format

import (
	"fmt"
	"sync/atomic"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// OpenHead opens a model of which only the beginning is there, such as the header of a file in a
// registry: metadata, names, dtypes and shapes can be read, and whatever needs more bytes is
// ErrTruncated. size is the size of the whole file; 0 means that it is not known, which suits the
// formats whose header says where the tensors end (safetensors, GGUF). If the structure of the file
// goes on after head, OpenHead returns ErrTruncated: fetch more.
//
// There is nothing to compare the whole file with: Options.Trusted is ErrUnsupported, and so is a
// size below that of head. Options.Private has no effect. head must not change until the model is
// closed.
func OpenHead(head []byte, size int64, opts *Options) (*Model, error) {
	m, err := newModel(opts)
	if err != nil {
		return nil, err
	}
	o := m.opening.options
	if o.Trusted != nil {
		return nil, &tensor.Error{Field: "Trusted", Offset: -1, Err: fmt.Errorf("%w: only the beginning of the file is there to compare", ErrUnsupported)}
	}
	if size == 0 {
		size = driver.UnknownSize
	}
	if size < int64(len(head)) {
		return nil, &tensor.Error{Field: "size", Offset: -1, Err: fmt.Errorf("%w: %d bytes, the head has %d", ErrUnsupported, size, len(head))}
	}
	r := &headReader{head: head, size: size}
	files := m.files()
	files.Private = false
	region, err := source.OpenReader(&source.Reader{ReaderAt: r, Proven: size, Parsed: r.end}, size, files)
	m, err = m.finish(region, err, "")
	if err != nil && r.isShort.Load() {
		return nil, truncated(head, err)
	}
	if err != nil {
		return nil, err
	}
	if end := m.structureEnd(); end > int64(len(head)) {
		m.Close()
		return nil, truncated(head, fmt.Errorf("it ends at %d", end))
	}
	return m, nil
}

// truncated returns the error for a head that does not have the whole structure.
func truncated(head []byte, why error) error {
	return &tensor.Error{Field: "head", Offset: int64(len(head)), Err: fmt.Errorf("%w: the first %d bytes do not have the whole structure, or it is damaged: %w", ErrTruncated, len(head), why)}
}

// headReader is a file of which only the beginning is there. While the file is parsed, which reads
// ahead, a few bytes after the beginning are zeros; OpenHead compares where the structure ends.
type headReader struct {
	head     []byte
	size     int64
	isParsed atomic.Bool
	isShort  atomic.Bool // bytes after the beginning were asked for
}

// readAhead is how far parsers read beyond what they need.
const readAhead = 4 << 20

// ReadAt implements io.ReaderAt.
func (r *headReader) ReadAt(p []byte, off int64) (int, error) {
	have := int64(len(r.head))
	n := 0
	if off < have {
		n = copy(p, r.head[off:])
	}
	if n == len(p) {
		return n, nil
	}
	r.isShort.Store(true)
	if r.isParsed.Load() || off+int64(len(p)) > have+readAhead {
		return n, fmt.Errorf("%w: only the first %d bytes of the file are there", ErrTruncated, have)
	}
	clear(p[n:])
	return len(p), nil
}

// end ends the zeros.
func (r *headReader) end() { r.isParsed.Store(true) }
