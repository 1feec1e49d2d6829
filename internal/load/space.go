package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// space is another file of the model; it owns the views of the tensors in it.
type space struct {
	*Model
	number driver.Space
	src    shard       // of a file that was opened while parsing
	name   string      // relative to the directory
	dir    string      // absolute where the file is opened later
	was    os.FileInfo // status of the file when it was declared
	id     source.ID   // used in place of was for a file read by source.Peek
	peeked int64       // size of a file whose beginning was read
	why    error       // why a declared file cannot be opened

	// later maps a file that was not opened while parsing. It is a field, set when such files
	// are declared, so that programs whose formats have one file do not link the code.
	later func(*space) (*source.Region, error)

	mu     sync.Mutex
	region atomic.Pointer[source.Region]
	gone   bool
}

func (f *space) path() string {
	if r := f.region.Load(); r != nil && f.dir == "" {
		_, path := r.Origin()
		return path
	}
	return filepath.Join(f.dir, filepath.FromSlash(f.name))
}

// open maps the file unless it is mapped already.
func (f *space) open() (*source.Region, error) {
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
	r, err := f.later(f)
	if err != nil && f.id.Known() {
		return nil, err // names the file
	}
	if err != nil {
		return nil, f.external(err)
	}
	if f.spaces.frozen { // otherwise this happens after parsing
		if err := f.hold(context.Background(), r); err != nil {
			r.Undo(&f.mapping)
			return nil, err
		}
	}
	f.region.Store(r)
	return r, nil
}

// mapLater maps a declared file if it has not been replaced since.
func (f *space) mapLater() (*source.Region, error) {
	if f.why != nil && !errors.Is(f.why, os.ErrNotExist) {
		return nil, fmt.Errorf("when the model was opened: %w", f.why)
	}
	if f.id.Known() {
		o := f.mapping
		o.NoLink, o.Same = true, f.id
		r, err := source.Open(f.path(), o)
		if errors.Is(err, source.ErrNotRegular) {
			return nil, fmt.Errorf("%w: %w", source.ErrReplaced, err)
		}
		if err == nil {
			r.SetOrigin(f.desc.Name, f.path())
		}
		return r, err
	}
	root, err := openRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return f.spaces.mapBelow(root, f.dir, f.name, f.path(), f.same)
}

// same returns an error if the file is not the one that was declared. It compares device,
// inode, size and ctime.
func (f *space) same(now os.FileInfo) error {
	switch was := f.was; {
	case was == nil:
		return fmt.Errorf("%w: the file was not there when the model was opened", tensor.ErrCorrupt)
	case !os.SameFile(was, now) || was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime()):
		return source.ErrReplaced
	}
	return nil
}

// external adds the file's name to an error.
func (f *space) external(err error) error { return fmt.Errorf("external data %.200q: %w", f.name, err) }

// Lend implements memory.Owner: two files must outlive the slice.
func (f *space) Lend(info *tensor.Info) error {
	if err := f.Model.Lend(info); err != nil {
		return err
	}
	return f.region.Load().Lend()
}

// Load implements memory.Owner.
func (f *space) Load(info *tensor.Info) ([]byte, error) { return f.load(f.region.Load(), info) }

// Ranged implements memory.Owner.
func (f *space) Ranged(info *tensor.Info) bool { return f.ranged(f.region.Load(), info) }

// ReadAt implements memory.Owner.
func (f *space) ReadAt(ctx context.Context, info *tensor.Info, p []byte, off int64) error {
	_, err := f.region.Load().ReadAtContext(ctx, p, info.Offset+off)
	return err
}

// Explain implements memory.Owner.
func (f *space) Explain(info *tensor.Info, err error) error {
	return explainTensor(info, err, f.desc.Name, f.path())
}

// loose owns tensors in other files that are not in the index. Their file is mapped on first
// use, no checksum is verified before that, and copies are not cached.
type loose struct {
	*space
	number driver.Space
}

// Enter implements memory.Owner.
func (l loose) Enter(info *tensor.Info) error {
	if err := l.main.Enter(); err != nil {
		return err
	}
	_, err := l.spaces.regionOf(l.number, -1, info.Name, info.Offset, info.Size)
	if err != nil {
		l.main.Leave()
	}
	return err
}

// Ranged implements memory.Owner.
func (l loose) Ranged(*tensor.Info) bool {
	r := l.region.Load()
	return r != nil && !r.InMemory()
}

// Load implements memory.Owner.
func (l loose) Load(info *tensor.Info) ([]byte, error) {
	r := l.region.Load()
	b, err := r.Slice(info.Offset, info.Size)
	if err != nil || !r.InMemory() {
		return b, err
	}
	return append(memory.Aligned(len(b))[:0], b...), nil
}
