package mle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// ir returns the graph to write: the caller's, or one made of the plan.
func (e *encoder) ir() (*IR, error) {
	if e.o.IR != nil {
		return e.o.IR, checkIR(e.o.IR, e.plan)
	}
	b := newIRBuilder(e.plan.Tensors, uint32(e.o.Version))
	if e.plan.Graph != nil {
		if err := b.graph(e.plan.Graph); err != nil {
			return nil, err
		}
	}
	b.constants(len(e.plan.Tensors))
	return b.ir, nil
}

// checkIR holds the caller's graph against the plan and the layout.
func checkIR(ir *IR, p *driver.Plan) error {
	next := 0
	for i := range ir.Tensors {
		d := &ir.Tensors[i]
		if err := tensor.CheckName(d.Name); err != nil {
			return refuse("IR", err, "tensor %d", i)
		}
		if len(d.Shape) > maxRank {
			return refuse("IR", format.ErrUnsupported, "tensor %q has rank %d", d.Name, len(d.Shape))
		}
		for _, size := range d.Shape {
			if size < 0 || size > math.MaxUint32 {
				return refuse("IR", format.ErrUnsupported, "tensor %q: dim %d does not fit in 32 bits", d.Name, size)
			}
		}
		if !d.Constant() {
			continue
		}
		if next == len(p.Tensors) || p.Tensors[next].Name != d.Name || p.Tensors[next].DType != d.DType ||
			!p.Tensors[next].Shape.Equal(d.Shape) || p.Tensors[next].Size != d.Size {
			return refuse("IR", format.ErrCorrupt, "constant %q is not the plan's next tensor", d.Name)
		}
		next++
	}
	if next < len(p.Tensors) {
		return refuse("IR", format.ErrCorrupt, "it lacks tensor %q of the plan", p.Tensors[next].Name)
	}
	names := make([][]byte, len(ir.Tensors))
	for i := range names {
		names[i] = []byte(ir.Tensors[i].Name)
	}
	if i, twice := repeated(names); twice {
		return refuse("IR", format.ErrCorrupt, "tensor %q occurs twice", names[i])
	}
	lists := [][]uint32{ir.Inputs, ir.Outputs}
	for i := range ir.Nodes {
		lists = append(lists, ir.Nodes[i].Inputs, ir.Nodes[i].Outputs, ir.Nodes[i].Params)
	}
	for _, ids := range lists {
		if len(ids) > maxIDs {
			return refuse("IR", format.ErrLimit, "a list of %d ids, there is room for %d", len(ids), maxIDs)
		}
	}
	return nil
}

// encodeGraph writes the graph section. offsets are those of the constants.
func encodeGraph(ir *IR, version uint32, offsets []int64) ([]byte, error) {
	var w wire.Buffer
	attrs, at, err := joinAttributes(ir)
	if err != nil {
		return nil, err
	}
	if int64(len(ir.Tensors)) > math.MaxUint32 || int64(len(ir.Nodes)) > math.MaxUint32 {
		return nil, refuse("graph", format.ErrLimit, "%d tensors and %d nodes are more than can be counted", len(ir.Tensors), len(ir.Nodes))
	}
	w.Grow(graphHead + len(ir.Tensors)*descriptorSize + len(ir.Nodes)*nodeSize + len(attrs))
	for _, n := range []int{len(ir.Nodes), len(ir.Tensors), len(ir.Inputs), len(ir.Outputs)} {
		w.U32(uint32(n))
	}
	putIDs(&w, ir.Inputs, ir.Outputs)
	for i := range ir.Tensors {
		d := &ir.Tensors[i]
		offset, code := d.Offset, d.Code
		if d.Constant() {
			offset, offsets = uint64(offsets[0]), offsets[1:]
			code, _ = dtypeCode(d.DType)
		}
		putDescriptor(&w, d, offset, code)
	}
	for i := range ir.Nodes {
		n := &ir.Nodes[i]
		code, ok := n.Op.code(version)
		if !ok {
			return nil, refuse(fmt.Sprintf("node %d", i), format.ErrUnsupported, "version %d has no code for operator %v", version, n.Op)
		}
		w.U16(code)
		w.U16(uint16(len(n.Inputs)))
		w.U16(uint16(len(n.Outputs)))
		w.U16(uint16(len(n.Params)))
		putIDs(&w, n.Inputs, n.Outputs, n.Params)
		w.U32(at[i])
		w.U32(uint32(len(n.Attributes)))
	}
	w.Raw(attrs)
	return w.Bytes(), nil
}

func putDescriptor(w *wire.Buffer, d *Descriptor, offset uint64, code uint8) {
	w.U64(offset)
	w.U64(uint64(d.Size))
	w.U32(uint32(len(d.Shape)))
	for _, size := range d.Shape {
		w.U32(uint32(size))
	}
	w.Fill(4*(maxRank-len(d.Shape)), 0)
	w.U8(code)
	w.Fill(3, 0)
}

// putIDs writes lists of up to 16 ids in the room for 16 each.
func putIDs(w *wire.Buffer, lists ...[]uint32) {
	for _, ids := range lists {
		for _, id := range ids {
			w.U32(id)
		}
		w.Fill(4*(maxIDs-len(ids)), 0)
	}
}

// joinAttributes joins the attributes of all nodes, equal ones once, and
// returns where those of each node begin in the graph section.
func joinAttributes(ir *IR) (attrs []byte, at []uint32, err error) {
	base := uint64(graphHead) + uint64(len(ir.Tensors))*descriptorSize + uint64(len(ir.Nodes))*nodeSize
	seen := map[string]uint32{}
	at = make([]uint32, len(ir.Nodes))
	for i := range ir.Nodes {
		object := ir.Nodes[i].Attributes
		if len(object) == 0 {
			continue
		}
		if err := jsonmeta.Check(object, jsonmeta.Options{LoneSurrogates: true}); err != nil {
			return nil, nil, refuse(fmt.Sprintf("node %d", i), err, "attributes")
		}
		off, ok := seen[string(object)]
		if !ok {
			if base+uint64(len(attrs))+uint64(len(object)) > math.MaxUint32 {
				return nil, nil, refuse("graph", format.ErrLimit, "attributes reach beyond 4 GiB")
			}
			off = uint32(base + uint64(len(attrs)))
			seen[string(object)] = off
			attrs = append(attrs, object...)
		}
		at[i] = off
	}
	return attrs, at, nil
}

// encodeAttributes makes a JSON object of neutral attributes, nil of none.
func encodeAttributes(field string, list []format.Attribute) (json.RawMessage, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	for i, a := range list {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendJSON(out, a.Name); err == nil {
			out, err = appendJSON(append(out, ':'), a.Value)
		}
		if err != nil {
			return nil, refuse(field, format.ErrUnsupported, "attribute %q: %v", a.Name, err)
		}
	}
	return append(out, '}'), nil
}

// encodeMetadata makes the metadata object. The names of all descriptors are
// in tensor_names: where the caller has such an entry, else at the end.
func encodeMetadata(m format.Metadata, all []Descriptor) ([]byte, error) {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if _, ok := m.Get(namesKey); !ok && len(names) > 0 {
		m = append(m[:len(m):len(m)], format.Entry{Key: namesKey})
	}
	if len(m) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	for i, entry := range m {
		if i > 0 {
			out = append(out, ',')
		}
		if entry.Key == namesKey {
			entry.Value = names
		}
		var err error
		if out, err = appendJSON(out, entry.Key); err == nil {
			out, err = appendJSON(append(out, ':'), entry.Value)
		}
		if err != nil {
			return nil, refuse(fmt.Sprintf("metadata %q", entry.Key), format.ErrUnsupported, "%v", err)
		}
	}
	out = append(out, '}')
	if err := jsonmeta.Check(out, jsonmeta.Options{LoneSurrogates: true}); err != nil {
		return nil, refuse("metadata", err, "no JSON object that readers take")
	}
	return out, nil
}

// appendJSON writes a value of metadata or attributes. Floats are written so
// that they read as such, and JSON as it is.
func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case string:
		return appendText(b, v)
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		return appendFinite(b, v, 64)
	case float32:
		return appendFinite(b, float64(v), 32)
	case json.Number:
		if _, err := strconv.ParseFloat(string(v), 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("%q is no number", string(v))
		}
		return appendRaw(b, []byte(v))
	case json.RawMessage:
		return appendRaw(b, v)
	case []int64:
		return appendList(b, v)
	case []int32:
		wide := make([]int64, len(v))
		for i, x := range v {
			wide[i] = int64(x)
		}
		return appendList(b, wide)
	case []float32:
		return appendList(b, v)
	case []float64:
		return appendList(b, v)
	case []string:
		return appendList(b, v)
	}
	return nil, fmt.Errorf("a %T has no JSON form", v)
}

// appendRaw writes one JSON value as it is. Anything else could add keys.
func appendRaw(b, raw []byte) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, fmt.Errorf("%.40q is not one JSON value", raw)
	}
	return append(b, raw...), nil
}

func appendList[T any](b []byte, list []T) (out []byte, err error) {
	out = append(b, '[')
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendJSON(out, v); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func appendFinite(b []byte, x float64, bits int) ([]byte, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%v has no JSON form", x)
	}
	return appendFloat(b, x, bits), nil
}

// appendText writes a string without the escapes that only HTML needs.
func appendText(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%q is not valid UTF-8", s)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...), nil
}
