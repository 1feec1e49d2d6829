package mobi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// modelInfo is the model metadata section with the specs that follow it.
type modelInfo struct {
	name      string
	framework uint32
	created   uint64
	inputs    []Spec
	outputs   []Spec
	sum       uint32 // CRC-32 of the section
}

// metadata reads the model metadata and the specs behind it, up to the first
// constant.
func (p *parser) metadata() error {
	at := int64(p.header.MetadataOffset)
	b, err := p.Bytes(at, int64(p.header.TensorOffset)-at)
	if err != nil {
		return err
	}
	p.model.sum = tensor.CRC32(b)
	c := wire.NewCursor(name, b, at)
	if err := p.modelMetadata(&c); err != nil {
		return err
	}
	p.seen.padding = c.Left()
	padAt := c.Offset()
	rest := c.Bytes("padding", uint64(c.Left()))
	if i := firstNonZero(rest); i >= 0 {
		c.Failf("padding", padAt+int64(i), format.ErrCorrupt, "%#x between the specs and the constants", rest[i])
	}
	return c.Err()
}

// modelMetadata reads the model metadata and the specs.
func (p *parser) modelMetadata(c *wire.Cursor) error {
	m := &p.model
	n := c.U32("model name length")
	nameAt := c.Offset()
	raw := c.Bytes("model name", uint64(n))
	checkText(c, "model name", nameAt, raw)
	m.framework = c.U32("framework version")
	m.created = c.U64("creation timestamp")
	nIn, nOut := c.U32("input count"), c.U32("output count")
	c.Count("input and output count", uint64(nIn)+uint64(nOut), specMin)
	if c.Err() != nil {
		return c.Err()
	}
	m.name = string(raw)
	m.inputs, m.outputs = p.specs(c, int(nIn), int(nOut))
	return c.Err()
}

// firstNonZero returns the index of the first byte that is not 0, or -1.
func firstNonZero(b []byte) int {
	rest := bytes.TrimLeft(b, "\x00")
	if len(rest) == 0 {
		return -1
	}
	return len(b) - len(rest)
}

// The keys of File.Metadata, which the metadata of a plan may have too.
const (
	keyName      = "name"               // string
	keyFramework = "framework_version"  // int64, 0 to 2^32-1
	keyCreated   = "creation_timestamp" // int64 or json.Number, 0 to 2^64-1, Unix seconds
	keyFlags     = "flags"              // int64, 0 to 2^32-1
)

// Metadata implements driver.Parsed.
func (f *parsed) Metadata() (driver.Metadata, error) {
	return driver.Metadata{
		{Key: keyName, Value: f.model.name},
		{Key: keyFramework, Value: int64(f.model.framework)},
		{Key: keyCreated, Value: number(f.model.created)},
		{Key: keyFlags, Value: int64(f.header.Flags)},
	}, nil
}

// number returns an unsigned number as metadata holds it.
func number(n uint64) any {
	if n > math.MaxInt64 {
		return json.Number(strconv.FormatUint(n, 10))
	}
	return int64(n)
}

// unsigned is the inverse of number, for numbers of so many bits.
func unsigned(v any, bits int) (uint64, error) {
	var text string
	switch n := v.(type) {
	case int64:
		text = strconv.FormatInt(n, 10)
	case json.Number:
		text = n.String()
	default:
		return 0, fmt.Errorf("%w: value of type %s", format.ErrUnsupported, driver.TypeName(v))
	}
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%w: %s is not an unsigned number of %d bits", format.ErrUnsupported, text, bits)
	}
	return n, nil
}
