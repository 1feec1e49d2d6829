package onnx

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/external"
	"github.com/weightmap/weightmap/internal/messages"
	"github.com/weightmap/weightmap/tensor"
)

// head is a TensorProto without its data, in memory that is reused for the next tensor.
type head struct {
	message   messages.Message // with its data, unless the parser left them in the file
	name      []byte
	dims      []int64
	code      int32
	location  int32
	segmented bool
	raw       rawHead
	list      int   // the field of typed data, 0 for none
	lists     int   // how many such fields there are
	values    int64 // in the list
	wire      int64 // bytes that the list takes on the wire, tags and lengths included
	ext       externalHead

	// Set by check.
	typ  *elemType
	size int64
}

// rawHead is raw_data.
type rawHead struct {
	found  bool
	at     int64  // offset of the field in the message
	offset int64  // of the data in the file
	text   string // the data in memory
	size   int64
}

// externalHead is external_data. A length of -1 means to the end of the file.
type externalHead struct {
	location       []byte
	offset, length int64
	seen           uint8 // a bit for each key
	err            error
	space          driver.Space // of the file, set by parsed.external
}

// reset clears h for the next tensor.
func (h *head) reset() {
	h.name = h.name[:0]
	h.dims = h.dims[:0]
	h.code = 0
	h.location = 0
	h.segmented = false
	h.raw = rawHead{}
	h.list = 0
	h.lists = 0
	h.values = 0
	h.wire = 0
	h.ext = externalHead{location: h.ext.location[:0], length: -1}
}

// read reads a tensor whose data is in memory.
func (h *head) read(m messages.Message) error {
	location := h.ext.location
	h.reset()
	h.ext.location = location[:0]
	for f := m.Cursor(); f.Next(); {
		switch {
		case !isData(f.Number):
		case f.Number == rawData:
			h.raw = rawHead{found: true, at: f.At(), text: f.Text(), size: int64(len(f.Text()))}
		default:
			h.addList(f.Number, listValues(&f), int64(len(f.Raw())))
		}
	}
	return h.readFields(m)
}

// listValues returns the number of values in a field of typed data.
func listValues(f *messages.Cursor) int64 {
	switch f.Number {
	case stringData:
		return 1
	case floatData:
		return int64(f.Floats())
	case doubleData:
		return int64(f.Doubles())
	}
	return int64(f.Ints())
}

// addList counts the values of a field of typed data, which takes bytes on the wire.
func (h *head) addList(number int, values, bytes int64) {
	if values == 0 {
		return
	}
	if h.list != number {
		h.list = number
		h.lists++
	}
	h.values += values
	h.wire += bytes
}

// readFields reads the fields of a tensor that are not data.
func (h *head) readFields(m messages.Message) error {
	h.message = m
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case tensorDims:
			if len(h.dims)+f.Ints() > maxRank {
				return messages.Errorf(f.At(), "", tensor.ErrLimit, "more than %d", maxRank)
			}
			h.dims = messages.AppendInts(h.dims, &f)
		case dataType:
			h.code = f.Enum()
		case segment:
			h.segmented = true
		case tensorName:
			h.name = append(h.name[:0], f.Text()...)
		case externalData:
			err := h.readEntry(f.At(), f.Message())
			if err != nil {
				return err
			}
		case dataLocation:
			h.location = f.Enum()
		}
	}
	return nil
}

// The keys of external_data that are used.
var externalKeys = []string{"location", "offset", "length"}

// readEntry reads one entry of external_data.
func (h *head) readEntry(at int64, m messages.Message) error {
	e := &h.ext
	key := ""
	value := ""
	for f := m.Cursor(); f.Next(); {
		switch f.Number {
		case entryKey:
			key = f.Text()
		case entryValue:
			value = f.Text()
		}
	}
	i := slices.Index(externalKeys, key)
	if i < 0 {
		return nil
	}
	if e.seen&(1<<i) != 0 {
		return messages.Errorf(at, "", tensor.ErrCorrupt, "%s occurs twice", key)
	}
	e.seen |= 1 << i
	if i == 0 {
		e.location = append(e.location[:0], value...)
		return nil
	}
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil && e.err == nil {
		// It counts only if the data is external.
		e.err = messages.Errorf(at, "", tensor.ErrCorrupt, "%s %.40q is no number of bytes", key, value)
	}
	if i == 1 {
		e.offset = int64(n)
	} else {
		e.length = int64(n)
	}
	return nil
}

// badField returns an error about a field of the tensor, which may be missing.
func badField(field, text string, args ...any) error {
	return messages.Errorf(messages.OfMessage, field, tensor.ErrCorrupt, text, args...)
}

// check checks what depends on several fields.
func (h *head) check() error {
	h.typ = typeOf(h.code)
	factors := h.dims
	if h.sized() {
		factors = append(h.dims, max(1, h.typ.bits/8))
		h.dims = factors[:len(h.dims)] // with its memory
	}
	_, err := tensor.Shape(factors).Elems()
	if err != nil {
		return wrongDims(err)
	}
	elems, _ := tensor.Shape(h.dims).Elems()
	switch {
	case h.code == 0:
		return badField("data_type", "missing or UNDEFINED")
	case h.segmented:
		return messages.Errorf(messages.OfMessage, "segment", format.ErrUnsupported,
			"tensors in several pieces")
	case h.location != 0 && h.location != 1:
		return badField("data_location", "code %d", h.location)
	case h.lists > 1:
		return badField(h.listName(), "typed data in several fields")
	case h.raw.found && h.list != 0:
		return messages.Errorf(h.raw.at, "", tensor.ErrCorrupt,
			"both raw_data and %s are set", h.listName())
	}
	h.size = h.typ.bytes(elems) // 0 if the type does not say
	switch {
	case h.location == 1:
		return h.checkExternal(elems)
	case h.raw.found:
		return h.checkRaw(elems)
	case h.list != 0:
		return h.checkList(elems)
	case elems > 0:
		return badField("raw_data", "missing: %v has %d elements", tensor.Shape(h.dims), elems)
	}
	return nil
}

func wrongDims(err error) error {
	err = fmt.Errorf("%w: %w", tensor.ErrCorrupt, err)
	return &messages.Error{At: messages.OfMessage, Field: "dims", Err: err}
}

// listName returns the name of the field of typed data.
func (h *head) listName() string { return fieldName(h.list) }

// fieldName returns the name of a field of a TensorProto.
func fieldName(number int) string { return table[typeTensor].Fields[number].Name }

// checkRaw compares raw_data with the shape.
func (h *head) checkRaw(elems int64) error {
	if h.code == stringCode && h.raw.size > 0 {
		return messages.Errorf(h.raw.at, "", tensor.ErrCorrupt, "strings are not stored as raw data")
	}
	return h.setSize(h.raw.size, elems, h.raw.at, "")
}

// sized reports whether shape and type determine the number of bytes.
func (h *head) sized() bool { return h.typ.bits > 0 }

// setSize sets the size to n bytes of data, which must match the shape. The error is about the
// field at an offset, or a field of the message there.
func (h *head) setSize(n, elems, at int64, field string) error {
	isWrong := n != h.size
	if !h.sized() {
		isWrong = (n == 0) != (elems == 0)
	}
	if isWrong {
		return messages.Errorf(at, field, tensor.ErrCorrupt,
			"%d bytes, %v of type %d takes %d", n, tensor.Shape(h.dims), h.code, h.size)
	}
	h.size = n
	return nil
}

// checkList compares typed data with type and shape.
func (h *head) checkList(elems int64) error {
	switch {
	case h.typ == undefined && elems == 0:
		return badField(h.listName(), "%d values for no elements", h.values)
	case h.typ == undefined:
		h.size = h.wire
	case h.typ.list != h.list:
		return badField(h.listName(), "%s belongs in %s", h.typ.name, fieldName(h.typ.list))
	case h.values != h.typ.values(elems):
		return badField(h.listName(), "%d values, %v of %s takes %d",
			h.values, tensor.Shape(h.dims), h.typ.name, h.typ.values(elems))
	case h.list == stringData:
		h.size = h.wire
	}
	return nil
}

// checkExternal checks that the data can be a range of a file below the model's directory. A
// missing length is determined when the file is known.
func (h *head) checkExternal(elems int64) error {
	e := &h.ext
	if h.raw.size > 0 || h.list != 0 {
		return badField("external_data.location", "the data is external and in the model too")
	}
	// ".." may stay within the directory.
	if len(e.location) > 0 {
		e.location = append(e.location[:0], external.Clean(string(e.location))...)
	}
	err := external.CheckLocation(e.location)
	switch {
	case err != nil:
		return &messages.Error{At: messages.OfMessage, Field: "external_data.location", Err: err}
	case e.err != nil:
		return e.err
	case e.length > math.MaxInt64-e.offset:
		return badField("external_data.length", "%d bytes at %d", e.length, e.offset)
	case e.length < 0:
		return nil
	}
	return h.setSize(e.length, elems, messages.OfMessage, "external_data.length")
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
