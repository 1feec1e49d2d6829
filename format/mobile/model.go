package mobile

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
)

// Model is an open model file. All methods may be called from any thread,
// Close included. What describes the model (Format, TensorCount, TensorName and
// so on) stays readable after Close; data, metadata and graph do not. Models are
// made by Open, OpenBytes and OpenDescriptor; one made otherwise is empty and
// closed.
//
// Two objects are one model when their Keys are equal: the generated Java classes
// compare just that in equals and hashCode.
type Model struct {
	// Key tells models apart, empty for one that is empty. It is not to be set.
	Key string

	m      *format.Model // nil in an empty model: the methods of format.Model take that for a closed one
	closed atomic.Bool

	mu        sync.Mutex
	addresses map[string]int64 // of the tensors whose memory was given out
	pins      runtime.Pinner   // holds those of them that the garbage collector owns
}

// lent holds the models whose memory was given out by address, so that only
// Close frees it, not the garbage collector.
var lent sync.Map

// Why something cannot be had.
var (
	errClosed = &format.Error{Field: "model", Offset: -1, Err: format.ErrClosed}
	errIndex  = errors.New("index out of range")
)

// open returns the model, or why it cannot be used.
func (m *Model) open() (*format.Model, error) {
	if m.m == nil || m.closed.Load() {
		return nil, m.fail("model", format.ErrClosed)
	}
	return m.m, nil
}

// fail names the format in an error of this package.
func (m *Model) fail(field string, err error) error {
	return &format.Error{Format: m.Format(), Field: field, Offset: -1, Err: err}
}

// Format returns the name of the file's format, "mobi".
func (m *Model) Format() string { return m.m.Format() }

// Version returns the version of the format that the file has, "1".
func (m *Model) Version() string { return m.m.Version() }

// Name returns the model's name as the metadata has it, empty when it does
// not, or the model is closed.
func (m *Model) Name() string {
	open, err := m.open()
	if err != nil {
		return ""
	}
	return modelName(open.Metadata())
}

// modelName finds the name under the keys that writers use: "name" in mobi,
// "model_name" in mle, in wia within another.
func modelName(meta format.Metadata) string {
	for _, key := range []string{"name", "model_name"} {
		if v, ok := meta.Get(key); ok {
			if name, ok := v.(string); ok {
				return name
			}
		}
	}
	return nameInside(meta)
}

// MetadataJSON returns the metadata as one JSON object with the keys in file
// order.
func (m *Model) MetadataJSON() (string, error) {
	open, err := m.open()
	if err != nil {
		return "", err
	}
	text, err := open.Metadata().MarshalJSON()
	if err != nil {
		return "", m.fail("metadata", err)
	}
	// Metadata is read when asked for: a Close in between leaves none.
	_, err = m.open()
	return string(text), err
}

// NoteCount returns how many oddities of the file were noticed and tolerated.
func (m *Model) NoteCount() int64 { return int64(len(m.m.Notes())) }

// Note returns one of them, such as "header checksum not recorded", and an
// empty text for an index that does not exist.
func (m *Model) Note(index int64) string {
	notes := m.m.Notes()
	if index < 0 || index >= int64(len(notes)) {
		return ""
	}
	return notes[index]
}

// NeedsKey reports whether tensor data cannot be read without the key in
// Options.
func (m *Model) NeedsKey() bool { return m.m.NeedsKey() }

// TensorCount returns the number of tensors that have data.
func (m *Model) TensorCount() int64 { return int64(m.m.Len()) }

// TensorName returns the name of a tensor by its position in the file, from 0, and
// an empty text for an index that does not exist.
func (m *Model) TensorName(index int64) string {
	if index < 0 || index >= m.TensorCount() {
		return ""
	}
	return m.m.At(int(index)).Name()
}

// Tensor returns a tensor by its position in the file, from 0.
func (m *Model) Tensor(index int64) (*Tensor, error) {
	if _, err := m.open(); err != nil {
		return nil, err
	}
	if index < 0 || index >= m.TensorCount() {
		return nil, m.fail("tensor", fmt.Errorf("%w: %d of %d", errIndex, index, m.TensorCount()))
	}
	return m.TensorNamed(m.TensorName(index))
}

// TensorNamed returns a tensor by its name.
func (m *Model) TensorNamed(name string) (*Tensor, error) {
	open, err := m.open()
	if err != nil {
		return nil, err
	}
	v, err := open.Tensor(name)
	if err != nil {
		return nil, err
	}
	return &Tensor{Key: m.Key + "/" + name, model: m, view: v}, nil
}

// Prefetch asks the system to read the file ahead. It returns at once.
func (m *Model) Prefetch() error {
	open, err := m.open()
	if err != nil {
		return err
	}
	return open.Prefetch()
}

// Close waits for calls that are reading, and gives the file's memory back:
// addresses that tensors gave out are dead from here on. It must not be called
// from Progress, where it would wait for itself. A second Close does nothing.
func (m *Model) Close() error {
	m.closed.Store(true)
	err := m.m.Close()
	// Whoever is giving out an address right now has the lock; after him there
	// is only ErrClosed.
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pins.Unpin()
	m.addresses = nil
	lent.Delete(m)
	return err
}
