package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Parse implements driver.Driver. It parses a file with tensors, or an index and all its shards.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
	head, err := driver.Peek(src, driver.SniffLen)
	if err != nil {
		return nil, err
	}
	x.Version = "1"
	out := &driver.Parsed{Sums: sums}
	if isIndex(head) {
		return out, parseIndex(src, x, o, out)
	}
	out.Metadata, err = parseFile(src, head, 0, x, o)
	if err != nil {
		return nil, err
	}
	out.HeaderSize = lengthSize + int64(binary.LittleEndian.Uint64(head))
	out.DataOffset = out.HeaderSize
	return out, nil
}

// parseIndex parses the index of a sharded model and all shards.
func parseIndex(src driver.Source, x *driver.Index, o *driver.ParseOptions,
	out *driver.Parsed) error {
	join := shards.Model{Format: formatName, Open: parseShard}
	all, unlisted, err := join.Parse(src, x, o)
	if err != nil {
		return err
	}
	all[0] = slices.DeleteFunc(all[0], func(e schema.Entry) bool { // describes the files
		return e.Key == "total_size" || e.Key == "total_parameters"
	})
	if unlisted > 0 {
		out.Notes = append(out.Notes,
			fmt.Sprintf("tensors of shards that the index does not name, and that are left out: %d",
				unlisted))
	}
	merge(all, out)
	return nil
}

// merge sets the metadata of a model of several files.
func merge(all []schema.Metadata, out *driver.Parsed) {
	differ := 0
	out.Metadata, differ = shards.Merge(all...)
	if differ > 0 {
		out.Notes = append(out.Notes,
			fmt.Sprintf("metadata entries that differ between files, of which the first counts: %d", differ))
	}
}

// ParseParts implements driver.PartsParser.
func (fileFormat) ParseParts(d driver.Dir, names []string, x *driver.Index,
	o *driver.ParseOptions) (*driver.Parsed, error) {
	x.Version = "1"
	join := shards.Model{Format: formatName, Open: parseShard}
	all, err := join.ParseNames(d, names, x, o)
	if err != nil {
		return nil, err
	}
	out := &driver.Parsed{Sums: sums, Notes: []string{shards.NoIndex(len(names))}}
	merge(all, out)
	return out, nil
}

// sums implements driver.Parsed: no checksum covers anything.
func sums() []driver.Sum { return []driver.Sum{{Name: "header"}} }

// parseShard parses a shard. If the file is something else, such as a Git LFS pointer, the error
// says so.
func parseShard(src driver.Source, space driver.Space, x *driver.Index,
	o *driver.ParseOptions) (schema.Metadata, error) {
	head, err := driver.Peek(src, driver.SniffLen)
	if err != nil {
		return nil, err
	}
	meta, err := parseFile(src, head, space, x, o)
	if err != nil {
		return nil, explainForeign(err, src, head)
	}
	return meta, nil
}

// explainForeign returns the error of a file that is something else, if head shows what. Otherwise
// it returns err.
func explainForeign(err error, src driver.Source, head []byte) error {
	if !foreign.Blamed(err) || (fileFormat{}).Detect(head, 0) {
		return err
	}
	what := cmp.Or(foreign.Name(head, src.Path()), foreign.Guess(head))
	if what == "" {
		return err
	}
	return wire.Error(formatName, "header length", 0, foreign.Error(what, err))
}

// parseFile parses a file with tensors into x. head is its beginning.
func parseFile(src driver.Source, head []byte, space driver.Space, x *driver.Index,
	o *driver.ParseOptions) (schema.Metadata, error) {
	r := wire.NewRecord(formatName, head, 0)
	n := r.U64("header length")
	left := uint64(src.Size() - lengthSize)
	if n > left {
		r.Bad(format.ErrTruncated, "%d bytes, %d are left", n, left)
	}
	if n > maxHeader {
		r.Bad(format.ErrLimit, "%d bytes, the limit is %d", n, maxHeader)
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	start := lengthSize + int64(n)
	err := o.Memory.Structure(start)
	if err != nil {
		return nil, wire.Error(formatName, "header length", 0, err)
	}
	err = o.Memory.Reserve(start)
	if err != nil {
		return nil, wire.Error(formatName, "header length", 0, err)
	}
	defer o.Memory.Release(start)
	b, err := src.Slice(0, start)
	if err != nil {
		return nil, err
	}
	p := parser{index: x, space: space, start: start, size: src.Size() - start}
	p.s = jsonmeta.NewScanner(b[lengthSize:], jsonmeta.Options{
		MaxDepth: maxDepth,
		Memory:   o.Memory,
		Stored:   start,
		Value:    text,
	})
	// An estimate that hostile braces cannot raise: growing in steps takes 1.4 times as long.
	x.Grow(min(bytes.Count(b, []byte{'{'}), len(b)/minEntry, driver.MaxTensors), len(b)/2, len(b)/32)
	meta, err := p.header()
	if errors.Is(err, format.ErrCorrupt) {
		err = explainZeros(err, b[lengthSize:])
	}
	return meta, err
}

// explainZeros returns the error of a header with zeros in it, which JSON never has. Otherwise it
// returns err.
func explainZeros(err error, header []byte) error {
	at := bytes.IndexByte(header, 0)
	if at < 0 {
		return err
	}
	what := "zeros from here on, as a copy or a download leaves them that was never filled: " +
		"copy or download the file again"
	isPadding := len(bytes.Trim(header[at:], "\x00")) == 0
	if isPadding && bytes.HasSuffix(bytes.TrimRight(header[:at], " \n"), []byte("}")) {
		what = `it is padded with NUL bytes, not with spaces: write spaces with ` +
			`python -c "d = open('IN', 'rb').read(); n = 8 + int.from_bytes(d[:8], 'little'); ` +
			`open('OUT', 'wb').write(d[:8] + d[8:n].replace(b'\0', b' ') + d[n:])"`
	}
	return wire.Errorf(formatName, "header", lengthSize+int64(at), format.ErrCorrupt, "%s", what)
}

// text parses a value of the metadata.
func text(s *jsonmeta.Scanner, _ string) (any, error) {
	b, err := s.Text()
	return string(b), err
}

// parser parses one header.
type parser struct {
	s     jsonmeta.Scanner
	index *driver.Index
	space driver.Space

	start, size int64            // of the buffer after the header
	listed      *tensor.Encoding // of the last tensor with an unknown dtype

	// The entry of the current tensor.
	dtype         []byte
	dims, offsets []int64
	found         uint8 // one bit per field
}

// header parses the header.
func (p *parser) header() (meta schema.Metadata, err error) {
	seen := false
	err = p.s.Object(func(key []byte, at int) (err error) {
		if string(key) != metadataKey {
			return p.tensor(key, at)
		}
		if seen {
			return wire.Errorf(formatName, metadataKey, lengthSize+int64(at), format.ErrCorrupt,
				"it occurs twice")
		}
		seen = true
		meta, err = p.metadata()
		return err
	})
	if err != nil {
		return nil, jsonmeta.Locate(err, formatName, "header", lengthSize)
	}
	err = p.s.End()
	if err != nil {
		return nil, jsonmeta.Locate(err, formatName, "header", lengthSize)
	}
	err = p.index.Covers(0, p.start, p.start+p.size)
	if err != nil {
		return nil, jsonmeta.Locate(err, formatName, "header", lengthSize)
	}
	return meta, nil
}

// metadata parses the value of __metadata__.
func (p *parser) metadata() (schema.Metadata, error) {
	if p.s.Null() {
		return nil, nil
	}
	meta, err := p.s.Metadata()
	if errors.Is(err, format.ErrLimit) {
		return nil, wire.Error(formatName, metadataKey, 0, err)
	}
	return meta, jsonmeta.Locate(err, formatName, metadataKey, lengthSize)
}

// tensor parses the entry of a tensor and lists it.
func (p *parser) tensor(name []byte, at int) error {
	p.found = 0
	err := p.s.Object(p.field)
	if err != nil {
		return jsonmeta.Locate(err, formatName, "tensor "+strconv.Quote(string(name)), lengthSize)
	}
	t := driver.Tensor{Name: name, Shape: p.dims, Space: p.space}
	err = p.check(&t)
	if err != nil {
		return tensorError(name, at, err)
	}
	err = p.index.Add(&t)
	if err != nil {
		return tensorError(name, at, err)
	}
	return nil
}

// tensorError is an error about a tensor whose entry is at an offset of the header.
func tensorError(name []byte, at int, err error) error {
	return wire.Error(formatName, "tensor "+strconv.Quote(string(name)), lengthSize+int64(at), err)
}

// The bits of the fields that an entry has.
const (
	hasDType = 1 << iota
	hasShape
	hasOffsets
	hasAll = 1<<iota - 1
)

// field parses one field of an entry. Unknown fields are ignored.
func (p *parser) field(key []byte, at int) (err error) {
	var bit uint8
	switch string(key) {
	case "dtype":
		bit = hasDType
		p.dtype, err = p.s.Text()
	case "shape":
		bit = hasShape
		p.dims, err = p.integers(p.dims[:0])
	case "data_offsets":
		bit = hasOffsets
		p.offsets, err = p.integers(p.offsets[:0])
	default:
		return p.s.Skip()
	}
	if err != nil {
		return err
	}
	if bit == hasOffsets && len(p.offsets) != 2 {
		reason := fmt.Sprintf("%d data_offsets instead of 2", len(p.offsets))
		return &jsonmeta.Error{Offset: int64(at), Reason: reason}
	}
	if p.found&bit != 0 {
		return &jsonmeta.Error{Offset: int64(at), Reason: "the field occurs twice"}
	}
	p.found |= bit
	return nil
}

// integers appends the elements of an array to list.
func (p *parser) integers(list []int64) ([]int64, error) {
	err := p.s.Array(func(i int) error {
		if i == maxRank {
			return wire.Errorf(formatName, "header", lengthSize+int64(p.s.Offset()), format.ErrLimit,
				"more than %d numbers in an array", maxRank)
		}
		n, err := p.s.Int()
		list = append(list, n)
		return err
	})
	return list, err
}

// check validates shape, dtype and range, and fills in t.
func (p *parser) check(t *driver.Tensor) (err error) {
	if p.found != hasAll {
		return fmt.Errorf("%w: the dtype, the shape or data_offsets are missing", format.ErrCorrupt)
	}
	begin := p.offsets[0]
	end := p.offsets[1]
	switch {
	case begin > end:
		return fmt.Errorf("%w: data_offsets [%d, %d]: the end is before the beginning", format.ErrCorrupt,
			begin, end)
	case end > p.size:
		return fmt.Errorf("%w: data_offsets [%d, %d]: the file has %d bytes of data", format.ErrTruncated,
			begin, end, p.size)
	}
	t.Offset = p.start + begin
	t.Size = end - begin
	elems, err := t.Shape.Elems()
	if err != nil {
		return err
	}
	which := named(p.dtype)
	if which < 0 {
		return p.list(t, elems)
	}
	t.DType = dtypes[which].dtype
	t.Encoding = dtypes[which].enc
	if t.Encoding != nil && elems%t.Encoding.BlockElems != 0 {
		return fmt.Errorf("%w: %v %s elements do not fill whole bytes", format.ErrShape, t.Shape, p.dtype)
	}
	info := tensor.Info{DType: t.DType, Encoding: t.Encoding, Shape: t.Shape}
	size, err := info.ByteSize()
	if err != nil {
		return err
	}
	if size != t.Size {
		return fmt.Errorf("%w: data_offsets [%d, %d]: %s %v takes %d bytes", format.ErrCorrupt, begin,
			end, p.dtype, t.Shape, size)
	}
	return nil
}

// list handles a dtype that the reference does not have: the range gives the size. Consecutive
// tensors share one description.
func (p *parser) list(t *driver.Tensor, elems int64) error {
	if len(p.dtype) == 0 {
		return fmt.Errorf("%w: an empty dtype", format.ErrCorrupt)
	}
	if (elems == 0) != (t.Size == 0) {
		return fmt.Errorf("%w: %d elements of the unknown dtype %q in %d bytes", format.ErrCorrupt,
			elems, p.dtype, t.Size)
	}
	if p.listed == nil || p.listed.Name != string(p.dtype) {
		p.listed = &tensor.Encoding{Name: string(p.dtype), Format: formatName}
	}
	t.Encoding = p.listed
	return nil
}
