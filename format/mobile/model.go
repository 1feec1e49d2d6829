package mobile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
)

// Model is an open model file. All methods may be called from any thread,
// Close included. What describes the model (Format, TensorCount, TensorName and
// so on) stays readable after Close; data, metadata and graph do not. Open, OpenBytes
// and OpenDescriptor return models; a Model that the app makes itself is empty and closed.
//
// Two objects are the same model when their Keys are equal: the generated Java classes
// compare only Key in equals and hashCode.
type Model struct {
	// Key identifies the model; it is empty in an empty Model. Do not set it.
	Key string

	m       *format.Model // nil in an empty model: the methods of format.Model take that for a closed one
	names   names
	limit   int64     // Options.MaxMemory
	closing *Canceler // used once Close was called, which ends verifications; nil in an empty model

	mu        sync.Mutex
	addresses map[string]int64 // of tensors, by the name in the file
	pins      runtime.Pinner   // keeps copies at their address
	pinned    int              // number of Pins
}

// lent holds the models that gave out addresses, so that the garbage collector does
// not free their memory before Close.
var lent sync.Map

var errIndex = errors.New("index out of range")

// open returns ErrClosed for a closed model.
func (m *Model) open() error {
	if m.m == nil || m.closing.canceled() {
		return m.fail("model", format.ErrClosed)
	}
	return nil
}

// fail makes an error with the format's name.
func (m *Model) fail(field string, err error) error {
	return wire.Error(m.Format(), field, -1, err)
}

// Format returns the name of the file's format, such as "mobi".
func (m *Model) Format() string { return m.m.Format() }

// Version returns the format's version, such as "1".
func (m *Model) Version() string { return m.m.Version() }

// Name returns the model's name from the metadata. It is empty when the metadata has
// none or cannot be read (MetadataJSON says why), and after Close.
func (m *Model) Name() string {
	// Writers use "name" in mobi, "model_name" in mle, and "name" in the object "model_info" in
	// wia.
	for _, key := range []string{"name", "model_name"} {
		v, _ := m.m.Value(key)
		if name, ok := v.(string); ok {
			return name
		}
	}
	v, _ := m.m.Value("model_info")
	raw, _ := v.(json.RawMessage)
	info, _ := jsonmeta.Parse(raw, jsonmeta.Options{}) // json.Unmarshal would add 290 kB to the app
	v, _ = info.Get("name")
	name, _ := v.(string)
	return name
}

// schema returns the metadata and the graph, with the names that the tensors had.
func (m *Model) schema() (*schema.Schema, error) {
	if len(m.names.ids) > 0 {
		p, err := formerSchema(m.m)
		if err != nil {
			return nil, err
		}
		return p, m.open()
	}
	meta, err := m.m.Metadata()
	if err != nil {
		return nil, err
	}
	graph, err := m.m.Graph()
	if err != nil {
		return nil, err
	}
	return &schema.Schema{Metadata: meta, Graph: graph}, m.open()
}

// text returns the JSON of a part of the model.
func (m *Model) text(part string, v json.Marshaler) (string, error) {
	b, err := v.MarshalJSON()
	if err != nil {
		return "", m.fail(part, err)
	}
	return string(b), nil
}

// MetadataJSON returns the metadata as one JSON object with the keys in file
// order.
func (m *Model) MetadataJSON() (string, error) {
	p, err := m.schema()
	if err != nil {
		return "", err
	}
	return m.text("metadata", p.Metadata)
}

// GraphJSON returns the operator graph as one JSON object. It is empty for a file
// without a graph:
//
//	{"name": "", "inputs": [{"name": "x", "dtype": "float32", "shape": [1, "batch"]}], "outputs": [...],
//	 "nodes": [{"name": "", "op": "Conv2D", "inputs": ["x", "1"], "outputs": ["2"], "attributes": {"stride": 2}}]}
//
// Inputs of nodes name graph inputs, tensors of the model, or outputs of other
// nodes. A dim of -1 is decided at run time. A dtype is empty where the file has none.
// Attributes that are tensors are shown by dtype and shape.
func (m *Model) GraphJSON() (string, error) {
	p, err := m.schema()
	if err != nil || p.Graph == nil {
		return "", err
	}
	return m.text("graph", p.Graph)
}

// NoteCount returns the number of notes: flaws of the file that were tolerated.
func (m *Model) NoteCount() int64 { return int64(len(m.m.Notes())) }

// Note returns one of them, such as "header checksum not recorded". It is empty for an
// index that does not exist.
func (m *Model) Note(index int64) string { return at(m.m.Notes(), index) }

// NeedsKey reports whether tensor data cannot be read without the key in
// Options.
func (m *Model) NeedsKey() bool { return m.m.NeedsKey() }

// TensorCount returns the number of tensors that have data.
func (m *Model) TensorCount() int64 { return int64(m.m.Len()) }

// TensorName returns the name of a tensor by its position in the file, from 0. It is
// empty for an index that does not exist.
//
// MOBI numbers tensors. The name is the one that the file stores beside the number, as
// weightmap's converter does ("fc.weight"), otherwise the number in decimal ("7").
func (m *Model) TensorName(index int64) string {
	if index < 0 || index >= m.TensorCount() {
		return ""
	}
	return m.names.of(m.m.At(int(index)).Name())
}

// Tensor returns a tensor by its position in the file, from 0.
func (m *Model) Tensor(index int64) (*Tensor, error) {
	if index < 0 || index >= m.TensorCount() {
		return nil, cmp.Or(m.open(), m.fail("tensor", fmt.Errorf("%w: %d of %d", errIndex, index, m.TensorCount())))
	}
	return m.TensorNamed(m.TensorName(index))
}

// TensorNamed returns a tensor by its name. In MOBI its number works too, unless another
// tensor has it for a name.
func (m *Model) TensorNamed(name string) (*Tensor, error) {
	v, err := m.m.Tensor(m.names.id(name))
	if err != nil {
		return nil, err
	}
	return &Tensor{Key: m.Key + "/" + v.Name(), model: m, view: v}, nil
}

// Prefetch asks the system to read the file ahead. It returns before that is read.
func (m *Model) Prefetch() error { return m.m.Prefetch(context.Background()) }

// Close ends verifications, waits for calls that are reading, and frees the file's
// memory: addresses of its tensors are invalid from then on. While there is a Pin, the
// memory stays until its Unpin. Progress must not call Close, which would
// wait for itself. A second Close does nothing.
func (m *Model) Close() error {
	m.closing.Cancel()
	err := m.m.Close()
	m.mu.Lock() // waits for an Address that is being taken; later ones fail
	defer m.mu.Unlock()
	m.free()
	return err
}

// free forgets the addresses of a closed model without Pins. m.mu is held.
func (m *Model) free() {
	if m.closing.canceled() && m.pinned == 0 {
		m.pins.Unpin()
		m.addresses = nil
		lent.Delete(m)
	}
}

// names are those that tensors of a MOBI file had before the format numbered them.
type names struct {
	byID map[string]string // by number, where it is another
	ids  map[string]string // the numbers by name
}

// namesOf reads them. A model of another format, and a file without names, has none.
func namesOf(m *format.Model) names {
	if m.Format() != "mobi" {
		return names{}
	}
	p, err := formerSchema(m)
	if err != nil {
		return names{} // GraphJSON returns the error
	}
	n := names{map[string]string{}, map[string]string{}}
	for i, info := range p.Tensors {
		if id := m.At(i).Name(); id != info.Name {
			n.byID[id] = info.Name
			n.ids[info.Name] = id
		}
	}
	return n
}

// of returns the name of what the file calls id.
func (n names) of(id string) string { return cmp.Or(n.byID[id], id) }

// id returns what the file calls name.
func (n names) id(name string) string { return cmp.Or(n.ids[name], name) }

// formerSchema describes the model with the names it had.
func formerSchema(m *format.Model) (*schema.Schema, error) {
	p, err := m.Schema()
	if err == nil {
		err = m.RestoreNames(p)
	}
	return p, err
}
