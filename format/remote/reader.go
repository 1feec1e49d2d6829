package remote

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// Open opens the model at a URL and detects its format. The context applies to opening, not to
// later reads. Closing the model cancels reads in progress.
func Open(ctx context.Context, url string, o *Options) (*format.Model, error) {
	o = cmp.Or(o, &Options{})
	if strings.HasPrefix(url, hubScheme) {
		return openHub(ctx, url, o)
	}
	r, err := NewReaderAt(ctx, url, o)
	if err != nil {
		return nil, err
	}
	return r.open(ctx, o)
}

// openReader opens the model from the Hub. list is what that lists, or nil.
func (h *hub) openReader(ctx context.Context, list *listing, o *Options) (*format.Model, error) {
	r, err := h.read(ctx, list, o)
	if err != nil {
		return nil, err
	}
	return r.open(ctx, o)
}

// open opens the model.
func (r *Reader) open(ctx context.Context, o *Options) (*format.Model, error) {
	stop := context.AfterFunc(ctx, func() { r.end(context.Cause(ctx)) })
	m, err := format.OpenReaderAt(r, r.Size(), o.Open)
	if !stop() && err == nil {
		m.Close()
		return nil, context.Cause(ctx)
	}
	return m, err
}

// Reader is an io.ReaderAt for an object, to pass to format.OpenReaderAt or a format's
// OpenReaderAt. It serves one model: it reads ahead while the model is opened, and its reads fail
// with tensor.ErrClosed after the model is closed. Its methods are safe for concurrent use.
type Reader struct {
	object  Object
	o       Options
	version Version       // fixed once the first window is there
	turns   chan struct{} // one for each request at a time
	ctx     context.Context
	end     context.CancelCauseFunc
	stats   struct{ requests, retries, bytes atomic.Int64 }

	mu sync.RWMutex
	windows
}

var (
	_ format.SiblingOpener   = (*Reader)(nil)
	_ format.ContextReaderAt = (*Reader)(nil)
	_ format.DescribedReader = (*Reader)(nil)
	_ format.NotifiedReader  = (*Reader)(nil)
)

// NewReaderAt fetches the first bytes of the object at a URL, with its size and version. The
// context applies only to that.
func NewReaderAt(ctx context.Context, url string, o *Options) (*Reader, error) {
	o = cmp.Or(o, &Options{})
	if strings.HasPrefix(url, hubScheme) {
		return newHubReader(ctx, url, o)
	}
	object, err := newHTTPObject(url, o)
	if err != nil {
		return nil, err
	}
	return NewObjectReaderAt(ctx, object, o)
}

// NewObjectReaderAt is NewReaderAt for any Object. Options.Client and Header are ignored.
func NewObjectReaderAt(ctx context.Context, object Object, o *Options) (*Reader, error) {
	c, err := o.checked()
	if err != nil {
		return nil, err
	}
	c.Client = nil
	c.Header = nil // the object has its own
	return newReader(ctx, context.Background(), object, c, make(chan struct{}, c.Parallel))
}

// newReader opens an object. Its later reads end with life.
func newReader(ctx, life context.Context, object Object, c Options, turns chan struct{}) (*Reader, error) {
	r := &Reader{object: object, o: c, turns: turns, windows: windows{opening: true, next: c.Window}}
	r.ctx, r.end = context.WithCancelCause(life)
	first := make([]byte, c.Window)
	n, err := r.fetch(ctx, first, 0)
	if err != nil {
		r.Cancel()
		return nil, wire.Place(err, "", r.path(), "")
	}
	r.pieces = []piece{{0, first[:n]}}
	return r, nil
}

// Sibling opens another file of the model that r reads. Its reads end when those of r do.
func (r *Reader) Sibling(name string) (io.ReaderAt, int64, error) {
	d, ok := r.object.(Directory)
	if !ok {
		return nil, 0, fmt.Errorf("%w: this model has other files, and what reads it has no way to them", format.ErrUnsupported)
	}
	if !fs.ValidPath(name) || strings.ContainsAny(name, `/\`) || name == "." {
		return nil, 0, fmt.Errorf("%w: %.200q is not the name of a file next to the model", format.ErrUnsupported, name)
	}
	object, err := d.Sibling(name)
	if err != nil {
		return nil, 0, err
	}
	s, err := newReader(r.ctx, r.ctx, object, r.o, r.turns)
	if err != nil {
		return nil, 0, err
	}
	return s, s.Size(), nil
}

// Size returns the size of the object.
func (r *Reader) Size() int64 { return r.version.Size }

// ReaderInfo returns the name of the object in errors, its size, which the server reported with
// data, and Options.Parallel. The name is the URL without user and query, or the String of an
// Object that is a fmt.Stringer, or "".
func (r *Reader) ReaderInfo() format.ReaderInfo {
	return format.ReaderInfo{Path: r.path(), Proven: r.version.Size, Parallel: r.o.Parallel}
}

// Parsed ends reading ahead: later reads fetch only their own bytes. format.OpenReaderAt calls it
// after the structure of the model was read. The cached data remains, for verification.
func (r *Reader) Parsed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opening = false
}

// Cancel makes current and later reads fail with tensor.ErrClosed. Closing a model calls it.
func (r *Reader) Cancel() { r.end(tensor.ErrClosed) }

// Stats counts the work of a Reader.
type Stats struct {
	Requests int64 // all attempts
	Retries  int64 // attempts after a failed one
	Bytes    int64 // received in bodies, also by attempts that failed
}

// Stats returns the counts so far.
func (r *Reader) Stats() Stats {
	return Stats{r.stats.requests.Load(), r.stats.retries.Load(), r.stats.bytes.Load()}
}

// ReadAt implements io.ReaderAt. Without an error, all bytes are of the version that was opened;
// after an error, the content of p is undefined. Options limits the attempts and the time of a
// read.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	return r.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt with a context.
func (r *Reader) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	if off < 0 {
		return 0, fmt.Errorf("%w: read at offset %d", tensor.ErrCorrupt, off)
	}
	var eof error
	if rest := max(0, r.version.Size-off); int64(len(p)) > rest {
		p = p[:rest]
		eof = io.EOF
	}
	n, opening := r.cached(p, off)
	if n == len(p) {
		return n, eof
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()
	defer time.AfterFunc(cmp.Or(r.o.Timeout, mostTime), func() { cancel(errTimeout) }).Stop()
	var err error
	if opening {
		err = r.ahead(ctx, p[n:], off+int64(n))
	} else {
		err = r.split(ctx, p[n:], off+int64(n), r.o.Part)
	}
	if err != nil {
		return n, wire.Place(err, "", r.path(), "")
	}
	return len(p), eof
}

// path returns the name of the object in errors.
func (r *Reader) path() string {
	if s, ok := r.object.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}

// mostParts limits a range to this many times Options.Part: very large reads need fewer requests.
const mostParts = 8

// String returns the path and the size.
func (r *Reader) String() string {
	return fmt.Sprintf("remote.Reader(%q, %d bytes)", r.path(), r.Size())
}

// GoString returns the same as String: the fields of a Reader include what it has fetched.
func (r *Reader) GoString() string { return r.String() }

// split reads p from off in ranges of at least part bytes that are fetched concurrently.
func (r *Reader) split(ctx context.Context, p []byte, off int64, part int) error {
	part = min(max(part, (len(p)+r.o.Parallel-1)/r.o.Parallel), mostParts*r.o.Part)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := work.Each(ctx, (len(p)+part-1)/part, r.o.Parallel, func(i int) error {
		from := i * part
		_, err := r.fetch(ctx, p[from:min(from+part, len(p))], off+int64(from))
		if err != nil {
			cancel(err)
		}
		return err
	})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // the first failure, which canceled the others
	}
	return err
}
