package wia

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// externals are the files beside the model that tensors lie in. Each is mapped
// when it is first asked for, and all tensors in it share the mapping.
type externals struct {
	f     *File
	dir   string
	debug bool
	seen  map[string]os.FileInfo // by cleaned location, as they were when the model was opened

	mu     sync.Mutex
	files  map[string]*mapped.Region
	pins   []*pins
	closed bool
	views  []atomic.Pointer[tensor.View] // by tensor; made when the first is needed
}

// pins are the holds that one call of File.Pin has on external files.
type pins struct{ unpin []func() }

func (x *externals) init(f *File, o *format.Options) {
	_, path := f.region.Origin()
	x.f, x.dir, x.debug = f, dirOf(path, o), o.Debug
	// Files are mapped when they are first needed. A program may have moved to
	// another directory by then.
	if x.dir != "" && len(f.locations) > 0 {
		if abs, err := filepath.Abs(x.dir); err == nil {
			x.dir = abs
		}
	}
	x.record(f.locations)
	f.locations = nil
}

// dirOf returns where external data are looked for, "" for nowhere.
func dirOf(path string, o *format.Options) string {
	if o.Dir != "" || path == "" {
		return o.Dir
	}
	return filepath.Dir(path)
}

// view returns the view of an external tensor. When the file cannot be used the
// view has no data and its accessors say why.
func (x *externals) view(i int) tensor.View {
	x.mu.Lock()
	if x.views == nil {
		x.views = make([]atomic.Pointer[tensor.View], x.f.Len())
	}
	slot := &x.views[i]
	x.mu.Unlock()
	if v := slot.Load(); v != nil {
		return *v
	}
	info := x.f.Info(i)
	var v tensor.View
	err := x.f.within(func() error {
		h, err := x.f.tensorHead(i)
		if err != nil {
			return err
		}
		r, data, err := x.data(&h.ext)
		if err == nil {
			v = tensor.NewView(info, r, data)
			slot.Store(&v)
		}
		return err
	})
	if err != nil {
		return tensor.NewView(info, unusable{x.f.Catalog, err}, nil)
	}
	return v
}

// unusable owns a tensor whose file cannot be used.
type unusable struct {
	*catalog.Catalog
	err error
}

// Load says why.
func (u unusable) Load(*tensor.Info) ([]byte, error) { return nil, u.err }

// data returns the range of an external file that e names.
func (x *externals) data(e *externalHead) (*mapped.Region, []byte, error) {
	r, err := x.open(string(e.location))
	if err != nil {
		return nil, nil, x.fail(e, err)
	}
	data, err := r.Slice(e.offset, e.length)
	return r, data, err
}

// fail says which location cannot be used.
func (x *externals) fail(e *externalHead, err error) error {
	return wire.Error(formatName, fmt.Sprintf("external data %.200q", e.location), -1, err)
}

// open returns the mapping of the file at location, below the model's directory
// wherever symbolic links lead.
func (x *externals) open(location string) (*mapped.Region, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	name := path.Clean(location)
	if r, ok := x.files[name]; ok {
		return r, nil
	}
	if x.closed {
		return nil, tensor.ErrClosed
	}
	if strings.HasSuffix(location, "/") {
		return nil, fmt.Errorf("%w: %w", tensor.ErrCorrupt, mapped.ErrNotRegular)
	}
	if x.dir == "" {
		return nil, fmt.Errorf("%w: a model that was not opened by path has no directory; set Options.Dir", format.ErrUnsupported)
	}
	r, err := x.mapFile(name)
	if err != nil {
		return nil, err
	}
	r.SetOrigin(formatName, filepath.Join(x.dir, filepath.FromSlash(name)))
	for _, p := range x.pins {
		if unpin, err := r.Pin(); err == nil {
			p.unpin = append(p.unpin, unpin)
		}
	}
	if x.files == nil {
		x.files = make(map[string]*mapped.Region)
	}
	x.files[name] = r
	return r, nil
}

// mapFile maps a regular file, if it is still what it was when the model was
// opened. It looks before it opens, since opening a pipe would wait for its
// other end, and compares what it opened.
func (x *externals) mapFile(name string) (*mapped.Region, error) {
	root, err := os.OpenRoot(x.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file := filepath.FromSlash(name)
	st, err := root.Stat(file)
	if err != nil {
		return nil, escape(err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %w", tensor.ErrCorrupt, mapped.ErrNotRegular)
	}
	f, err := root.Open(file)
	if err != nil {
		return nil, escape(err)
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return nil, err
	}
	if err := x.same(name, st); err != nil {
		return nil, err
	}
	return mapped.OpenFile(f, 0, st.Size(), mapped.Options{Debug: x.debug})
}

// escape marks what os.Root refuses, as opposed to what the system does.
func escape(err error) error {
	var p *os.PathError
	if errors.As(err, &p) && strings.Contains(p.Err.Error(), "escapes") {
		return fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)
	}
	return err
}

// pin holds all files that are mapped, and those that will be, until unpin.
func (x *externals) pin() (unpin func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := &pins{}
	for _, r := range x.files {
		if unpin, err := r.Pin(); err == nil {
			p.unpin = append(p.unpin, unpin)
		}
	}
	x.pins = append(x.pins, p)
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		for i, q := range x.pins {
			if p == q {
				x.pins = append(x.pins[:i], x.pins[i+1:]...)
				break
			}
		}
		for _, unpin := range p.unpin {
			unpin()
		}
		p.unpin = nil
	}
}

// close closes all files. Views of them answer ErrClosed from then on.
func (x *externals) close() error {
	x.mu.Lock()
	x.closed = true
	files := x.files
	x.mu.Unlock()
	var first error
	for _, r := range files {
		if err := r.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Pin holds the memory across Close, that of external files included: Close
// returns, but slices stay valid until the last unpin. unpin may be called more
// than once.
func (f *File) Pin() (unpin func(), err error) {
	main, err := f.Catalog.Pin()
	if err != nil {
		return nil, err
	}
	ext := f.ext.pin()
	return func() { main(); ext() }, nil
}

// Close forbids further access, waits for running View.Use calls, and unmaps
// the file and its external data. A second Close does nothing.
func (f *File) Close() error {
	err := f.Catalog.Close()
	if e := f.ext.close(); err == nil {
		err = e
	}
	return err
}
