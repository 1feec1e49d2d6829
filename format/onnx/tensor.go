package onnx

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
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
	segment  protobuf.Field
	more     bool // it has fields that a tensor.Info has no place for
	raw      protobuf.Field
	list     int   // the field of typed data, 0 for none
	lists    int   // how many such fields there are
	values   int64 // in the list
	wire     int64 // bytes that string_data takes on the wire, tags and lengths included
	ext      externalHead
	into     *[2]protobuf.Into // see newHead

	// Set by check.
	typ  *elemType
	size int64
}

// externalHead is external_data. A length of -1 means to the end of the file.
type externalHead struct {
	key, value     []byte // of the current entry
	location       []byte
	offset, length int64
	seen           uint8 // a bit for each key
	err            error
	space          driver.Space // of the file, set by parsed.external
}

// newHead returns a head that knows where the fields of a TensorProto go that need no more, and
// those of an entry of external_data.
func newHead() *head {
	h := &head{}
	h.into = &[2]protobuf.Into{
		{2: &h.code, 3: &h.segment, 8: &h.name, rawData: &h.raw, 14: &h.location},
		{1: &h.ext.key, 2: &h.ext.value},
	}
	return h
}

// read replaces h by the TensorProto in a field, checking the wire rules. Lists of data are
// counted, not held.
func (h *head) read(s *protobuf.Source, msg protobuf.Field, level int) error {
	e := externalHead{key: h.ext.key, value: h.ext.value, location: h.ext.location[:0], length: -1}
	*h = head{message: msg, name: h.name[:0], dims: h.dims[:0], ext: e, into: h.into}
	w := s.Walk(tensorMsg, msg, level)
	for w.Next() {
		h.more = h.more || w.Def == nil || w.Def.Flags&protobuf.Native != 0
		switch w.Num {
		case 1:
			h.dims, w.Err = protobuf.AppendInts(s, h.dims, &w.Field, maxRank)
		case floatData, int32Data, stringData, int64Data, doubleData, uint64Data:
			h.data(&w.Field)
		case 13:
			w.Err = h.external(s, w.Field, level+1)
		default:
			w.Store(&h.into[0])
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

// external takes one entry of external_data.
func (h *head) external(s *protobuf.Source, msg protobuf.Field, level int) error {
	e := &h.ext
	e.key = e.key[:0]
	e.value = e.value[:0]
	err := s.Read(entryMsg, msg, level, &h.into[1])
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
	case h.segment.Num != 0:
		return protobuf.InField("segment", protobuf.Defectf(at, format.ErrUnsupported, "tensors in several pieces"))
	case h.location != 0 && h.location != 1:
		return protobuf.Corruptf("data_location", at, "code %d", h.location)
	case h.lists > 1:
		return protobuf.Corruptf(h.listName(), at, "typed data in several fields")
	case h.raw.Num != 0 && h.list != 0:
		return protobuf.Corruptf("raw_data", h.raw.At, "both raw_data and %s are set", h.listName())
	}
	h.size = h.typ.bytes(elems) // 0 if the type does not say
	switch {
	case h.location == 1:
		return protobuf.InField("external_data", h.checkExternal(at, elems))
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
func (h *head) sized() bool { return h.typ.bits > 0 }

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
	case h.typ == undefined && elems == 0:
		err = protobuf.Corruptf("", at, "%d values for no elements", h.values)
	case h.typ == undefined:
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
	if h.raw.End > h.raw.Start || h.list != 0 {
		return protobuf.Corruptf("location", at, "the data is external and in the model too")
	}
	// ".." may stay within the directory.
	if len(e.location) > 0 {
		e.location = append(e.location[:0], external.Clean(string(e.location))...)
	}
	if err := external.CheckLocation(e.location); err != nil {
		return protobuf.InField("location", &protobuf.Defect{At: at, Err: err})
	}
	switch {
	case e.err != nil:
		return e.err
	case e.length > math.MaxInt64-e.offset:
		return protobuf.Corruptf("length", at, "%d bytes at %d", e.length, e.offset)
	case e.length < 0:
		return nil
	}
	return protobuf.InField("length", h.holds(e.length, elems, at))
}

// inFields reports whether the bytes of the tensor are the list's fields: for strings,
// and for types that do not determine the values.
func (h *head) inFields() bool { return h.list == stringData || h.list != 0 && h.typ == undefined }

// encoding describes the elements; it is nil if they have a DType.
func (h *head) encoding() *tensor.Encoding {
	if h.typ != undefined {
		return h.typ.enc
	}
	name := typeName(h.code)
	if h.list != 0 {
		name += listedIn + h.listName()
	}
	return &tensor.Encoding{Name: name}
}
