package onnx

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
)

// head is a TensorProto without its data, in memory that is reused for the next
// tensor.
type head struct {
	message  protobuf.Field
	name     []byte
	dims     []int64
	code     int32
	location int32
	segment  bool
	more     bool // it has fields that a tensor.Info has no place for
	raw      protobuf.Field
	list     int   // the field of typed data, 0 for none
	lists    int   // how many such fields there are
	values   int64 // in the list
	wire     int64 // bytes that string_data takes on the wire, tags and lengths included
	ext      externalHead

	// Set by check.
	typ  *elemType // nil for a type that is not in the table
	size int64
}

// externalHead is external_data. A length of -1 means to the end of the file.
type externalHead struct {
	key, value     []byte         // of the current entry
	into           *protobuf.Into // the two
	location       []byte
	offset, length int64
	seen           uint8 // a bit for each key
	err            error
}

// reset forgets the last tensor but keeps the memory of its slices.
func (h *head) reset() {
	e := externalHead{into: h.ext.into, key: h.ext.key[:0], value: h.ext.value[:0], location: h.ext.location[:0], length: -1}
	*h = head{name: h.name[:0], dims: h.dims[:0], ext: e}
}

// read merges the TensorProto in a field into h, checking the wire rules. Lists of data are
// counted, not held.
func (h *head) read(s *protobuf.Source, msg protobuf.Field, level int) error {
	h.message = msg
	w := s.Walk(tensorMsg, msg, level)
	for w.Next() {
		h.more = h.more || w.Def == nil || w.Def.Flags&protobuf.Native != 0
		switch w.Num {
		case 1:
			h.dims, w.Err = protobuf.AppendInts(s, h.dims, &w.Field, maxRank)
		case 2:
			h.code = int32(w.Val)
		case 3:
			h.segment = true
		case 8:
			name, err := s.Bytes(w.Start, w.End)
			h.name, w.Err = append(h.name[:0], name...), err
		case rawData:
			h.raw = w.Field
		case 14:
			h.location = int32(w.Val)
		case floatData, int32Data, stringData, int64Data, doubleData, uint64Data:
			h.data(&w.Field)
		case 13:
			w.Err = h.ext.read(s, w.Field, level+1)
		default:
			w.Check()
		}
	}
	return w.Err
}

// data counts the values of a list.
func (h *head) data(f *protobuf.Field) {
	if f.N == 0 {
		return
	}
	if h.list != int(f.Num) {
		h.list = int(f.Num)
		h.lists++
	}
	h.values += f.N
	h.wire += f.End - f.At
}

// The keys of external_data that are used.
var externalKeys = []string{"location", "offset", "length"}

// read takes one entry of external_data.
func (e *externalHead) read(s *protobuf.Source, msg protobuf.Field, level int) error {
	if e.into == nil {
		e.into = &protobuf.Into{1: &e.key, &e.value}
	}
	e.key, e.value = e.key[:0], e.value[:0]
	err := s.Read(entryMsg, msg, level, e.into)
	if err != nil {
		return err
	}
	i := slices.Index(externalKeys, string(e.key))
	switch i {
	case -1:
		return nil
	case 0:
		e.location = append(e.location[:0], e.value...)
	case 1:
		e.offset, err = decimal(e.value)
	case 2:
		e.length, err = decimal(e.value)
	}
	if e.seen&(1<<i) != 0 {
		return protobuf.Corruptf("", msg.At, "%s occurs twice", e.key)
	}
	e.seen |= 1 << i
	if err != nil && e.err == nil {
		// It counts only if the data is external.
		e.err = protobuf.Corruptf("", msg.At, "%s %.40q is no number of bytes", e.key, e.value)
	}
	return nil
}

// decimal reads a number that is not negative.
func decimal(b []byte) (int64, error) {
	n, err := strconv.ParseUint(string(b), 10, 63)
	return int64(n), err
}

// check checks what depends on several fields. at is the offset for errors.
func (h *head) check(at int64) error {
	h.typ = typeOf(h.code)
	factors := h.dims
	if h.sized() {
		factors = append(h.dims, max(1, h.typ.bits/8))
		h.dims = factors[:len(h.dims)] // with its memory
	}
	if _, err := tensor.Shape(factors).Elems(); err != nil {
		return protobuf.InField("dims", &protobuf.Defect{At: at, Err: fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)})
	}
	elems, _ := tensor.Shape(h.dims).Elems()
	switch {
	case h.code == 0:
		return protobuf.Corruptf("data_type", at, "missing or UNDEFINED")
	case h.segment:
		return protobuf.InField("segment", protobuf.Defectf(at, format.ErrUnsupported, "tensors in several pieces"))
	case h.location != 0 && h.location != 1:
		return protobuf.Corruptf("data_location", at, "code %d", h.location)
	case h.lists > 1:
		return protobuf.Corruptf(h.listName(), at, "typed data in several fields")
	case h.raw.Num != 0 && h.list != 0:
		return protobuf.Corruptf("raw_data", h.raw.At, "both raw_data and %s are set", h.listName())
	}
	if h.sized() {
		h.size = h.typ.bytes(elems)
	}
	switch {
	case h.location == 1:
		return h.checkExternal(at, elems)
	case h.raw.Num != 0:
		return h.checkRaw(elems)
	case h.list != 0:
		return h.checkList(at, elems)
	case elems > 0:
		return protobuf.Corruptf("raw_data", at, "missing: %v has %d elements", tensor.Shape(h.dims), elems)
	}
	return nil
}

func (h *head) listName() string { return tensorMsg.Fields[h.list].Name }

// checkRaw compares raw_data with the shape.
func (h *head) checkRaw(elems int64) error {
	n := h.raw.End - h.raw.Start
	if h.code == stringCode && n > 0 {
		return protobuf.Corruptf("raw_data", h.raw.At, "strings are not stored as raw data")
	}
	return protobuf.InField("raw_data", h.holds(n, elems, h.raw.At))
}

// sized reports whether shape and type determine the number of bytes.
func (h *head) sized() bool { return h.typ != nil && h.typ.bits > 0 }

// holds refuses n bytes of data if they do not match the shape, and otherwise sets the size.
func (h *head) holds(n, elems, at int64) error {
	if h.sized() && n != h.size || !h.sized() && (n == 0) != (elems == 0) {
		return protobuf.Corruptf("", at, "%d bytes, %v of type %d takes %d", n, tensor.Shape(h.dims), h.code, h.size)
	}
	h.size = n
	return nil
}

// checkList compares typed data with type and shape.
func (h *head) checkList(at, elems int64) error {
	var err error
	switch {
	case h.typ == nil && elems == 0:
		err = protobuf.Corruptf("", at, "%d values for no elements", h.values)
	case h.typ == nil:
		h.size = h.wire
	case h.typ.list != h.list:
		err = protobuf.Corruptf("", at, "%s belongs in %s", h.typ.name, tensorMsg.Fields[h.typ.list].Name)
	case h.values != h.typ.values(elems):
		err = protobuf.Corruptf("", at, "%d values, %v of %s takes %d", h.values, tensor.Shape(h.dims), h.typ.name, h.typ.values(elems))
	case h.list == stringData:
		h.size = h.wire
	}
	return protobuf.InField(h.listName(), err)
}

// checkExternal checks that the data can be a range of a file below the model's
// directory. A missing length is determined when the file is known.
func (h *head) checkExternal(at, elems int64) error {
	e := &h.ext
	in := func(err error) error { return protobuf.InField("external_data", err) }
	if h.raw.End > h.raw.Start || h.list != 0 {
		return in(protobuf.Corruptf("location", at, "the data is external and in the model too"))
	}
	// ".." may stay within the directory.
	if len(e.location) > 0 {
		e.location = append(e.location[:0], external.Clean(string(e.location))...)
	}
	if err := external.CheckLocation(e.location); err != nil {
		return in(protobuf.InField("location", &protobuf.Defect{At: at, Err: err}))
	}
	if e.err != nil {
		return in(e.err)
	}
	if e.length > math.MaxInt64-e.offset {
		return in(protobuf.Corruptf("length", at, "%d bytes at %d", e.length, e.offset))
	}
	if e.length < 0 {
		return nil
	}
	return in(protobuf.InField("length", h.holds(e.length, elems, at)))
}

// inFields reports whether the bytes of the tensor are the list's fields: for strings,
// and for types that do not determine the values.
func (h *head) inFields() bool { return h.list == stringData || h.list != 0 && h.typ == nil }

// encoding describes the elements; it is nil if they have a DType.
func (h *head) encoding() *tensor.Encoding {
	if h.typ != nil {
		return h.typ.enc
	}
	name := typeName(h.code)
	if h.list != 0 {
		name += listedIn + h.listName()
	}
	return &tensor.Encoding{Name: name}
}
