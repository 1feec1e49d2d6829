package live

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Options changes how generations are loaded. Nil and the zero value work.
type Options struct {
	// Open has the options for opening each generation: limits, keys, a trusted key, Private for
	// files that other programs overwrite in place. Its Context must be nil (ErrOption): Open and
	// Reload have one.
	Open *format.Options
	// Verify verifies every checksum of a model before it becomes current.
	Verify bool
	// Workers is the number of goroutines that verify. 0 means one for every four CPUs, at least
	// one, which leaves the others to requests.
	Workers int
	// Validate returns an error for a valid model that does not fit the program, such as one with
	// other shapes. It is called inside Model.Guard. It must not close the model, nor call Reload
	// or Close of the Handle, which would wait for it.
	Validate func(*format.Model) error
	// Prepare builds what requests need of a generation, such as an engine or converted weights.
	// Lease.Value returns it. If it has a method Close() error, that is called before the model is
	// closed. Prepare is called inside Model.Guard, after Validate and with the same restrictions,
	// which hold for Close too. Goroutines that it starts are not guarded.
	Prepare func(context.Context, *format.Model) (any, error)
	// Warm decodes compressed tensors and reads every page before a generation becomes current, so
	// that no request waits for the disk.
	Warm bool
	// Hot names tensors to lock in physical memory (View.Lock), or to decode if they are
	// compressed, before a generation becomes current. Requests for them never wait for the disk,
	// even if the model is larger than memory. A model that lacks one of them is refused.
	Hot []string
	// Interval is the time between two looks of Watch; 0 means a second.
	Interval time.Duration
	// Notify is called for each event, never concurrently. It must not call Reload or Close.
	Notify func(Event)
}

// Event reports a change of a Handle to Options.Notify.
type Event struct {
	Kind       EventKind     // what happened
	Generation uint64        // the current generation after the event
	Took       time.Duration // the time to load, for Loaded and Refused
	Err        error         // why a model was refused; ErrOverwritten for Overwritten
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events.
const (
	Loaded      EventKind = iota // a generation became current
	Refused                      // a model at the path was refused
	Overwritten                  // a file of the current generation was changed in place
)

// String returns the name of the kind.
func (k EventKind) String() string {
	names := [...]string{Loaded: "loaded", Refused: "refused", Overwritten: "overwritten"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// Handle is the current model at a path. Its methods are safe for concurrent use.
type Handle struct {
	current atomic.Pointer[generation] // nil once closed

	path string
	o    Options
	open format.Options

	turn  chan struct{} // taken while loading or closing
	life  context.Context
	close context.CancelFunc

	telling sync.Mutex // held while Options.Notify runs

	mu    sync.Mutex
	stats Stats                    // counters and the last error
	all   map[*generation]struct{} // installed, and not closed yet
}

// Open loads the first generation of the model at path: a file, a directory or an index of shards,
// as for format.Open. The context applies to that. Errors are those of Reload.
func Open(ctx context.Context, path string, o *Options) (*Handle, error) {
	h := &Handle{path: path, turn: make(chan struct{}, 1), all: map[*generation]struct{}{}}
	h.o = *cmp.Or(o, &Options{})
	h.open = *cmp.Or(h.o.Open, &format.Options{})
	if h.o.Workers < 0 || h.o.Interval < 0 {
		return nil, h.fail(fmt.Errorf("%w: Workers %d, Interval %v", format.ErrOption, h.o.Workers, h.o.Interval))
	}
	if h.open.Context != nil {
		return nil, h.fail(fmt.Errorf("%w: Open.Context is set: it is the parameter of live.Open", format.ErrOption))
	}
	h.life, h.close = context.WithCancel(context.Background())
	_, err := h.reload(ctx, true, "")
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Path returns the path that Open was given.
func (h *Handle) Path() string { return h.path }

// Close ends Watch and loads in progress. After Close, Acquire returns ErrClosed. Leases remain
// valid: releasing the last one closes the model. A second Close does nothing.
func (h *Handle) Close() error {
	h.close()
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	if g := h.current.Swap(nil); g != nil {
		return g.retire()
	}
	return nil
}

// fail adds the path to an error.
func (h *Handle) fail(err error) error { return &tensor.Error{Path: h.path, Offset: -1, Err: err} }

func (h *Handle) errClosed() error { return h.fail(format.ErrClosed) }

// update changes the statistics.
func (h *Handle) update(f func(*Stats)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.stats)
}

// notify tells the program about an event.
func (h *Handle) notify(e Event) {
	if h.o.Notify != nil {
		h.telling.Lock()
		defer h.telling.Unlock()
		h.o.Notify(e)
	}
}
