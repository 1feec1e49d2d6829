package format

import (
	"context"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
)

// Limits that do not depend on Options.
const (
	MaxTensors   = driver.MaxTensors   // of a model
	MaxStructure = driver.MaxStructure // bytes that are not data
)

// optionError says which option makes no sense.
func optionError(name string, value int64) error {
	return &Error{Field: name, Offset: -1, Err: fmt.Errorf("%w: %d", ErrOption, value)}
}

// checkOptions returns a copy with every unset option at its default, and m as its account; o may be
// nil. An option that makes no sense is ErrOption.
func checkOptions(o *Options, m *driver.Memory) (c Options, err error) {
	if o != nil {
		c = *o
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"MaxMemory", c.MaxMemory}, {"CacheBytes", c.CacheBytes}, {"Workers", int64(c.Workers)}, {"Check", int64(CheckAll) - int64(c.Check)}} {
		if n.value < 0 {
			return c, optionError(n.name, n.value)
		}
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	c.Key = slices.Clone(c.Key)
	m.Limit(c.MaxMemory)
	c.Memory = m
	return c, c.Context.Err()
}

// checkWriteOptions returns a copy with a context, for a file at path; o may be nil. An option that
// makes no sense is ErrOption.
func checkWriteOptions(o *WriteOptions, path string) (*WriteOptions, error) {
	var c WriteOptions
	if o != nil {
		c = *o
	}
	switch {
	case c.Spool > SpoolNever:
		return nil, optionError("Spool", int64(c.Spool))
	case c.MaxShard < 0:
		return nil, optionError("MaxShard", c.MaxShard)
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	c.Path = path
	return &c, nil
}
