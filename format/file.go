package format

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// file is a file of the model: its own, number 0, or another one. It owns the views of the tensors in it.
type file struct {
	*Model
	number driver.Space
	name   string // relative to the directory

	// Of a file that was declared while parsing.
	state state
	seen  source.Stamp // if it was present
	kept  *handle      // the open file until it is used, nil if more than mostKept are
	size  int64        // 0 if unknown
	why   error        // why it could not be opened

	mu     sync.Mutex
	region atomic.Pointer[source.Region]
	gone   bool
}

var (
	_ memory.Owner[tensor.Info] = (*file)(nil)
	_ memory.Advisor            = (*file)(nil)
)

func (f *file) path() string {
	if r := f.region.Load(); r != nil {
		return r.Path()
	}
	return f.spaces.door().Path(f.name)
}

// Files returns the paths of all files of the model: that of Path, then shards, the files of a
// directory, and external data, even if it is missing. tensor.Info.File is an index of it. It is nil for bytes and
// readers, whose files Stats lists.
func (m *Model) Files() []string {
	m = m.opened()
	if m.Path() == "" {
		return nil
	}
	var files []string
	for _, f := range m.spaces.files {
		files = append(files, f.path())
	}
	return files
}

// open maps the file unless it is mapped already.
func (f *file) open() (*source.Region, error) { return f.openContext(context.Background()) }

// openContext is open with a context for reading the pages that Options.Lock keeps in memory.
func (f *file) openContext(ctx context.Context) (*source.Region, error) {
	if r := f.region.Load(); r != nil {
		return r, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.region.Load(); r != nil {
		return r, nil
	}
	if f.gone {
		return nil, tensor.ErrClosed
	}
	r, err := f.openDeclared()
	if err != nil {
		return nil, f.external(err)
	}
	if f.spaces.frozen { // otherwise this happens after parsing
		if err := f.hold(ctx, r); err != nil {
			r.Close()
			return nil, err
		}
	}
	f.region.Store(r)
	return r, nil
}

// external adds the file's name to an error that lacks its path.
func (f *file) external(err error) error {
	e, ok := err.(*tensor.Error)
	if ok && e.Path != "" {
		return err
	}
	return fmt.Errorf("external data %.200q: %w", f.name, err)
}

// find returns the region of a tensor's file, which it maps if necessary, and checks that it contains the tensor. i
// is the index of the tensor, or negative if it is not in the index.
func (f *file) find(i int, name string, off, size int64) (*source.Region, error) {
	r, err := f.open()
	if err == nil && (off < 0 || off > r.Size() || size > r.Size()-off) {
		err = f.external(fmt.Errorf("%w: %d bytes at %d of a file of %d", tensor.ErrTruncated, size, off, r.Size()))
	}
	if err == nil {
		return r, nil
	}
	record := int64(-1)
	if f.parsed.RecordAt != nil && i >= 0 {
		record = f.parsed.RecordAt(i)
	}
	return nil, f.about(name, record, err)
}

// check returns an error for a range outside the file. The size of a declared file is
// checked when it is opened.
func (f *file) check(off, size int64) error {
	total := int64(math.MaxInt64)
	if r := f.region.Load(); r != nil {
		total = r.Size()
	} else if f.size > 0 {
		total = f.size
	}
	if off < 0 || size > total-off { // a size is never negative
		return fmt.Errorf("%w: the driver says that it is at %d to %d of %d bytes", tensor.ErrTruncated, off, off+size, total)
	}
	return nil
}

// Expose implements memory.Owner: the model's own file and this one must outlive the slice.
func (f *file) Expose(info *tensor.Info, b []byte) error {
	r := f.region.Load()
	if f.touch.pending.Load() || r.Sealed() {
		if err := f.Enter(info); err != nil {
			return err
		}
		err := f.Show(b)
		f.Leave()
		if err != nil {
			return err
		}
	}
	if err := f.main.Expose(); err != nil {
		return err
	}
	f.markUsed(r, b)
	if f.number == 0 {
		return nil
	}
	return r.Expose()
}

// Show implements memory.Owner. It finds the place of b by its address, which no description can get wrong.
func (f *file) Show(b []byte) error {
	r := f.region.Load()
	f.markUsed(r, b)
	if !r.Sealed() {
		return nil
	}
	return r.Show(r.FaultOffset(memory.Address(b)), int64(len(b)))
}

// markUsed says that b, memory of r, is used in place.
func (f *file) markUsed(r *source.Region, b []byte) {
	if r.Mapped() && r.Holds(memory.Address(b)) {
		r.MarkUsed(r.FaultOffset(memory.Address(b)), int64(len(b)))
	}
}

// Load implements memory.Owner. It returns the bytes of a tensor, or of a part of a tensor behind a reader. It keeps
// the results of the driver and copies of misaligned tensors; data from a reader goes
// into the cache.
func (f *file) Load(info *tensor.Info) ([]byte, error) {
	i, _ := f.index.Lookup(info.Name)
	r := f.region.Load()
	switch {
	case f.index.Loaded(i):
		return f.decoded(i, true)
	case !r.InMemory():
		return f.cache.read(r, info.Offset, info.Size)
	}
	return f.copy(i, true, func() ([]byte, error) {
		b, err := r.Copy(info.Offset, info.Size)
		return b, f.explainTensor(err, info.Name)
	})
}

// decoded returns tensor i, which the driver loads. With keep it is cached.
func (m *Model) decoded(i int, keep bool) ([]byte, error) {
	return m.copy(i, keep, func() ([]byte, error) {
		b, err := m.parsed.Load(i)
		if size := m.index.Size(i); err == nil && int64(len(b)) != size {
			err = m.about(m.index.Name(i), -1, fmt.Errorf("%w: %d bytes were loaded, it has %d", tensor.ErrCorrupt, len(b), size))
		}
		return b, err
	})
}

// File implements memory.Owner.
func (f *file) File(info *tensor.Info) (pass.File, int64) {
	r := f.region.Load()
	if r == nil || info.Offset < 0 || info.Compression != "" {
		return nil, 0
	}
	if f.parsed.Load != nil {
		i, _ := f.index.Lookup(info.Name)
		if f.index.Loaded(i) {
			return nil, 0
		}
	}
	return r, info.Offset
}

// Explain implements memory.Owner.
func (f *file) Explain(info *tensor.Info, err error) error {
	field := tensorField(info.Name)
	if err == nil || errors.As(err, new(*tensor.Error)) {
		return f.locate(err, f.path(), field)
	}
	return &tensor.Error{Format: f.desc.Name, Path: f.path(), Field: field, Offset: info.Offset, Err: err}
}

// unlisted owns tensors that are not in the index. Their file is mapped on first
// use, no checksum is verified before that, and copies are not cached.
type unlisted struct{ *file }

// Enter implements memory.Owner.
func (l unlisted) Enter(info *tensor.Info) error {
	if err := l.main.Enter(); err != nil {
		return err
	}
	_, err := l.find(-1, info.Name, info.Offset, info.Size)
	if err != nil {
		l.main.Leave()
	}
	return err
}

// File implements memory.Owner.
func (l unlisted) File(info *tensor.Info) (pass.File, int64) {
	r := l.region.Load()
	if r == nil {
		return nil, 0
	}
	return r, info.Offset
}

// Load implements memory.Owner.
func (l unlisted) Load(info *tensor.Info) ([]byte, error) {
	return l.region.Load().Copy(info.Offset, info.Size)
}
