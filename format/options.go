package format

import (
	"context"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
)

// Limits that do not depend on Options.
const (
	MaxTensors   = driver.MaxTensors   // of a model
	MaxStructure = driver.MaxStructure // bytes that are not data
)

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
			return c, driver.OptionError("", n.name, "%d", n.value)
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
		return nil, driver.OptionError("", "Spool", "%d", c.Spool)
	case c.MaxShard < 0:
		return nil, driver.OptionError("", "MaxShard", "%d", c.MaxShard)
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	c.Path = path
	return &c, nil
}
