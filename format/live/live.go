package live

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weightmap/weightmap/format"
)

// Options says how generations are loaded. Nil and the zero value work.
type Options struct {
	// Open is how each generation is opened: limits, keys, a trusted key.
	// Its Context is that of the first generation; later ones have that of Reload.
	Open *format.Options
	// Copy reads the files of each generation into memory, for files that other programs overwrite in
	// place, and for systems that replace no file while it is mapped (Windows). A signing.Policy needs the files
	// themselves, and so does a directory of .tsr files.
	Copy bool
	// Verify checks every checksum of a file before it becomes current.
	Verify bool
	// Workers is how many goroutines verify: those that answer requests need
	// processors meanwhile. 0 means one for every four, and at least one.
	Workers int
	// Validate refuses a model that is sound and does not fit the program, such as one of
	// other shapes. It runs inside Model.Do, and must not close the model, nor call Reload
	// or Close of the Handle, which wait for it.
	Validate func(*format.Model) error
	// Prepare makes what a program needs of each generation, once: an engine, weights in
	// other types. Lease.Value returns it. It is closed before the model if it has a method
	// Close() error, a panic of which is an error (Stats.LastError). It runs inside Model.Do like Validate,
	// and after it; goroutines that it starts are not guarded. What must not be called by Validate
	// must not be by Prepare and Close either.
	Prepare func(context.Context, *format.Model) (any, error)
	// Warm decodes what is compressed and touches every page before a generation becomes
	// current, so that no request waits for the disk.
	Warm bool
	// Hot names tensors that are locked in physical memory (View.Lock), or decoded where they are
	// compressed, before a generation becomes current, so that no request for them waits for the disk
	// even when the model is larger than memory. A name that a model lacks refuses the model.
	Hot []string
	// Interval is how often Watch looks; 0 means a second.
	Interval time.Duration
	// Notify is told what happened, by one goroutine at a time. It must not call Reload or
	// Close.
	Notify func(Event)
}

// Event is something that happened to a Handle.
type Event struct {
	Kind       EventKind
	Generation uint64        // that is current afterwards
	Took       time.Duration // of Loaded and Refused
	Err        error         // of Refused; ErrOverwritten
}

// EventKind tells events apart.
type EventKind uint8

// What may happen.
const (
	Loaded      EventKind = iota // a generation became current
	Refused                      // what the path leads to did not
	Overwritten                  // the file of the current generation was changed in place
)

func (k EventKind) String() string {
	names := [...]string{Loaded: "loaded", Refused: "refused", Overwritten: "overwritten"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// Handle is the current model at a path. Its methods are safe for concurrent use. The zero Handle
// is closed.
type Handle struct {
	current atomic.Pointer[generation] // nil once closed

	path string
	o    Options
	open format.Options

	turn  chan struct{} // held by who loads or closes
	life  context.Context
	close context.CancelFunc

	telling sync.Mutex // held while Options.Notify runs

	mu      sync.Mutex
	stats   Stats                    // what was counted and remembered
	old     map[*generation]struct{} // retired, and not closed yet
	refused identity                 // of what is not worth another look
}

// Open loads the first generation of the model at path, which may be all that format.Open
// takes: a file, a directory, an index of shards. Errors are those of Reload.
func Open(path string, o *Options) (*Handle, error) {
	h := &Handle{path: path, turn: make(chan struct{}, 1), old: map[*generation]struct{}{}}
	if o != nil {
		h.o = *o
	}
	if h.o.Open != nil {
		h.open = *h.o.Open
	}
	if h.o.Workers < 0 || h.o.Interval < 0 {
		return nil, h.fail(fmt.Errorf("%w: Workers %d, Interval %v", format.ErrOption, h.o.Workers, h.o.Interval))
	}
	ctx := h.open.Context
	if ctx == nil {
		ctx = context.Background()
	}
	h.life, h.close = context.WithCancel(context.Background())
	opened := false
	defer func() {
		if !opened { // perhaps a function of the program panicked
			h.Close()
		}
	}()
	if _, err := h.reload(ctx, true); err != nil {
		return nil, err
	}
	opened = true
	return h, nil
}

// Path returns the path that Open was given.
func (h *Handle) Path() string { return h.path }

// Close ends Watch and whatever is being loaded. Acquire is ErrClosed from here on. Leases that
// are held stay valid: the last one to be released closes the model. A second Close does nothing.
func (h *Handle) Close() error {
	if h.life == nil {
		return nil
	}
	h.close()
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	if g := h.current.Swap(nil); g != nil {
		return h.retire(g)
	}
	return nil
}

// fail gives an error the path.
func (h *Handle) fail(err error) error { return &format.Error{Path: h.path, Offset: -1, Err: err} }

func (h *Handle) errClosed() error { return h.fail(format.ErrClosed) }

// notify tells the program about an event.
func (h *Handle) notify(e Event) {
	if h.o.Notify != nil {
		h.telling.Lock()
		defer h.telling.Unlock()
		h.o.Notify(e)
	}
}
