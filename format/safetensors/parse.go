package safetensors

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// model is what is found in the files of a model beside its tensors.
type model struct {
	o       *driver.Options
	shards  []string // their names; nil for one file
	meta    driver.Metadata
	keys    map[string]int // where they are in meta, if there is more than one file
	differ  int            // entries that another file has with another value
	unknown bool           // some tensors are of no dtype of this library
}

// parse reads a file with tensors, or the index of a sharded model and all shards.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	head, err := driver.Prefix(src, driver.SniffLen)
	if err != nil {
		return nil, err
	}
	x.Version = "1"
	m := &model{o: o}
	var notes []string
	if isIndex(head) {
		notes, err = m.parseIndex(src, x)
	} else {
		err = m.parseFile(src, head, 0, x)
	}
	if err != nil {
		return nil, err
	}
	return &driver.Parsed{
		Own:      m.shards,
		Metadata: m.meta,
		Notes:    notes,
		Native:   m.native,
		Verify:   func(v driver.Verification) error { v.Section("header", ""); return nil },
	}, nil
}

// parseIndex reads the index of a sharded model, and all shards.
func (m *model) parseIndex(src driver.Source, x *driver.Index) (notes []string, err error) {
	m.keys = make(map[string]int)
	var later []driver.Metadata
	join := shards.Model{Format: formatName, Open: func(src driver.Source, s driver.Space, y *driver.Index) error {
		part := &model{o: m.o}
		err := part.parseShard(src, s, y)
		m.unknown = m.unknown || part.unknown
		later = append(later, part.meta)
		return err
	}}
	w, unlisted, err := join.Parse(src, x, m.o)
	if err != nil {
		return nil, err
	}
	m.shards = w.Shards
	own, err := m.decode(w.Metadata)
	if err != nil {
		return nil, err
	}
	for _, e := range own {
		if e.Key != "total_size" && e.Key != "total_parameters" { // of the files
			m.keys[e.Key] = len(m.meta)
			m.meta = append(m.meta, e)
		}
	}
	for _, meta := range later {
		m.merge(meta)
	}
	if unlisted > 0 {
		notes = append(notes, fmt.Sprintf("tensors of shards that the index does not name, and that are left out: %d", unlisted))
	}
	if m.differ > 0 {
		notes = append(notes, fmt.Sprintf("metadata entries that differ between files, of which the first counts: %d", m.differ))
	}
	return notes, nil
}

// parseShard reads the header of a shard. An error says what the file is if it is known not to be one, such
// as what Git LFS left in its place.
func (m *model) parseShard(src driver.Source, space driver.Space, y *driver.Index) error {
	head, err := driver.Prefix(src, driver.SniffLen)
	if err != nil {
		return err
	}
	err = m.parseFile(src, head, space, y)
	what := cmp.Or(foreign.Name(head, src.Path()), foreign.Guess(head))
	if what == "" || (fileFormat{}).Detect(head, 0) || !foreign.Blamed(err) {
		return err
	}
	return wire.Error(formatName, "header length", 0, foreign.Error(what, err))
}

// merge adds the metadata of a shard. Of entries that differ the first counts; JSON values
// that are no strings always differ.
func (m *model) merge(meta driver.Metadata) {
	for _, e := range meta {
		i, taken := m.keys[e.Key]
		if !taken {
			m.keys[e.Key] = len(m.meta)
			m.meta = append(m.meta, e)
			continue
		}
		text, isText := m.meta[i].Value.(string)
		if other, also := e.Value.(string); !isText || !also || text != other {
			m.differ++
		}
	}
}

// decode makes the metadata of a JSON object that was checked.
func (m *model) decode(object []byte) (driver.Metadata, error) {
	if object == nil {
		return nil, nil
	}
	if err := m.o.Memory.Build(jsonmeta.Cost(object), int64(len(object))); err != nil {
		return nil, wire.Error(formatName, metadataKey, 0, err)
	}
	return jsonmeta.Metadata(object)
}

// native has a copy within the format keep tensors of dtypes that are not known, whose names mean
// nothing elsewhere.
func (m *model) native() (*driver.Native, error) {
	if !m.unknown {
		return nil, nil
	}
	return &driver.Native{Format: formatName}, nil
}

// parseFile reads a file with tensors, which is in a space and begins with head, into x.
func (m *model) parseFile(src driver.Source, head []byte, space driver.Space, x *driver.Index) error {
	c := wire.NewCursor(formatName, head, 0)
	n := c.U64("header length")
	switch {
	case c.Err() != nil:
		return c.Err()
	case n > uint64(src.Size()-lengthSize):
		return wire.Errorf(formatName, "header length", 0, format.ErrTruncated, "%d bytes, %d are left", n, src.Size()-lengthSize)
	case n > maxHeader:
		return wire.Errorf(formatName, "header length", 0, format.ErrLimit, "%d bytes, the limit is %d", n, maxHeader)
	}
	start := lengthSize + int64(n)
	err := m.o.Memory.Structure(start)
	if err == nil {
		err = m.o.Memory.Reserve(start)
	}
	if err != nil {
		return wire.Error(formatName, "header length", 0, err)
	}
	defer m.o.Memory.Release(start)
	b, err := src.Slice(0, start)
	if err != nil {
		return err
	}
	p := parser{model: m, x: x, space: space, start: start, size: src.Size() - start}
	return p.header(b[lengthSize:])
}

// parser reads one header.
type parser struct {
	*model
	s     jsonmeta.Scanner
	x     *driver.Index
	space driver.Space

	start, size int64 // of the buffer behind the header
	dims        []int64
	encoding    *tensor.Encoding // of the last tensor of a dtype that is not known
}

// header reads all of it.
func (p *parser) header(b []byte) error {
	p.s = jsonmeta.NewScanner(b, jsonmeta.Options{MaxDepth: maxDepth})
	p.grow(b)
	var meta []byte
	seen := false
	err := p.s.Object(func(key []byte, at int) (err error) {
		if string(key) != metadataKey {
			return p.tensor(key, at)
		}
		if seen {
			return wire.Errorf(formatName, metadataKey, lengthSize+int64(at), format.ErrCorrupt, "it occurs twice")
		}
		seen = true
		meta, err = p.metadata(b)
		return located(err, metadataKey)
	})
	if err == nil {
		err = p.s.End()
	}
	if err != nil {
		return located(err, "header")
	}
	if p.meta, err = p.decode(meta); err != nil {
		return err
	}
	return p.x.Covers(0, p.start, p.start+p.size)
}

// The least that an entry takes: `"":{"dtype":"","shape":[],"data_offsets":[0,0]},`
const minEntry = 49

// grow makes room for what seems to come. Wrong guesses cost allocations, and no more
// memory than a few times the header.
func (p *parser) grow(b []byte) {
	n := min(bytes.Count(b, []byte{'{'}), len(b)/minEntry+1, driver.MaxTensors)
	// An entry has three commas of its own, one behind it, and one less than dims. The
	// braces of all and of the metadata are no entries.
	dims := min(max(bytes.Count(b, []byte{','})-3*n+8, 0), 8*n)
	p.x.Grow(n, min(max(len(b)-minEntry*n, 0), 256*n), dims)
}

// located gives the place to what is wrong with the header's JSON text.
func located(err error, field string) error {
	if j, ok := err.(*jsonmeta.Error); ok {
		return wire.Error(formatName, field, lengthSize+j.Offset, err)
	}
	return err
}

// metadata reads the object with the strings, or null.
func (p *parser) metadata(b []byte) ([]byte, error) {
	if p.s.Null() {
		return nil, nil
	}
	from := p.s.Offset()
	err := p.s.Unique(func() error {
		_, err := p.s.Text()
		return err
	})
	return b[from:p.s.Offset()], err
}

// entry is what the header says of a tensor, but for the shape.
type entry struct {
	dtype      []byte
	begin, end int64
	found      uint8 // a bit for each field
}

// tensor reads the entry of a tensor and lists it.
func (p *parser) tensor(name []byte, at int) error {
	var e entry
	err := p.s.Object(func(key []byte, at int) error { return p.field(&e, key, at) })
	if err != nil {
		return located(err, tensorField(name))
	}
	t := driver.Tensor{Name: name, Shape: p.dims, Space: p.space, Offset: p.start + e.begin, Size: e.end - e.begin}
	switch {
	case e.found != 1<<3-1:
		err = fmt.Errorf("%w: it lacks a dtype, a shape or data_offsets", format.ErrCorrupt)
	default:
		err = p.check(&t, &e)
	}
	if err == nil {
		err = p.x.Add(&t)
	}
	if err != nil {
		return wire.Error(formatName, tensorField(name), lengthSize+int64(at), err)
	}
	return nil
}

func tensorField(name []byte) string { return "tensor " + strconv.Quote(string(name)) }

// field reads one field of an entry. Unknown ones are ignored.
func (p *parser) field(e *entry, key []byte, at int) (err error) {
	var bit uint8
	switch string(key) {
	case "dtype":
		bit = 1
		e.dtype, err = p.s.Text()
	case "shape":
		bit = 2
		p.dims, err = p.integers(p.dims[:0])
	case "data_offsets":
		bit = 4
		var list []int64
		if list, err = p.integers(make([]int64, 0, 2)); err == nil && len(list) != 2 {
			return &jsonmeta.Error{Offset: int64(at), Reason: fmt.Sprintf("%d data_offsets instead of 2", len(list))}
		}
		if err == nil {
			e.begin, e.end = list[0], list[1]
		}
	default:
		return p.s.Skip()
	}
	if err == nil && e.found&bit != 0 {
		err = &jsonmeta.Error{Offset: int64(at), Reason: "the field occurs twice"}
	}
	e.found |= bit
	return err
}

// integers reads an array and appends its elements.
func (p *parser) integers(list []int64) ([]int64, error) {
	err := p.s.Array(func(i int) error {
		if i == maxRank {
			return wire.Errorf(formatName, "header", lengthSize+int64(p.s.Offset()), format.ErrLimit, "more than %d numbers in an array", maxRank)
		}
		n, err := p.s.Int()
		list = append(list, n)
		return err
	})
	return list, err
}

// check compares range, shape and dtype, and fills in what the dtype is.
func (p *parser) check(t *driver.Tensor, e *entry) error {
	switch {
	case e.begin > e.end:
		return fmt.Errorf("%w: data_offsets [%d, %d]: the end is before the beginning", format.ErrCorrupt, e.begin, e.end)
	case e.end > p.size:
		return fmt.Errorf("%w: data_offsets [%d, %d]: the file has %d bytes of data", format.ErrTruncated, e.begin, e.end, p.size)
	}
	n, err := t.Shape.Elems()
	if err != nil {
		return err
	}
	which := named(e.dtype)
	if which < 0 {
		return p.checkUnknown(t, e, n)
	}
	d := &dtypes[which]
	if _, err := t.Shape.ByteSize(d.whole()); err != nil {
		return err
	}
	// The bits of all elements may need more than 64 bits.
	if n%8*d.bits%8 != 0 {
		return fmt.Errorf("%w: %v %s elements do not fill whole bytes", format.ErrShape, t.Shape, d.name)
	}
	if size := n/8*d.bits + n%8*d.bits/8; t.Size != size {
		return fmt.Errorf("%w: data_offsets [%d, %d]: %s %v takes %d bytes", format.ErrCorrupt, e.begin, e.end, d.name, t.Shape, size)
	}
	t.DType, t.Encoding = d.dtype, d.enc
	return nil
}

// checkUnknown lists elements of a type that the reference does not have: as many bytes as
// the range says. Tensors in a row share one description.
func (p *parser) checkUnknown(t *driver.Tensor, e *entry, n int64) error {
	if len(e.dtype) == 0 {
		return fmt.Errorf("%w: an empty dtype", format.ErrCorrupt)
	}
	if (n == 0) != (t.Size == 0) {
		return fmt.Errorf("%w: %d elements of the unknown dtype %q in %d bytes", format.ErrCorrupt, n, e.dtype, t.Size)
	}
	if p.encoding == nil || p.encoding.Name != string(e.dtype) {
		p.encoding = &tensor.Encoding{Name: string(e.dtype)}
	}
	t.Encoding, p.unknown = p.encoding, true
	return nil
}
