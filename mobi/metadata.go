package mobi

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
)

// The keys of File.Metadata and of the metadata of a schema.
const (
	keyName      = "name"               // string
	keyFramework = "framework_version"  // int64, 0 to 2^32-1
	keyCreated   = "creation_timestamp" // int64 or json.Number, 0 to 2^64-1, Unix seconds
	keyFlags     = "flags"              // int64, 0 to 2^32-1
)

func (f *parsed) metadata() schema.Metadata {
	f.entries = [...]schema.Entry{
		{Key: keyName, Value: f.model.name},
		{Key: keyFramework, Value: int64(f.model.framework)},
		{Key: keyCreated, Value: schema.Number(f.model.created)},
		{Key: keyFlags, Value: int64(f.header.Flags)},
	}
	return f.entries[:]
}

// isUnset reports whether an entry is a field that every file has, and which says nothing.
func isUnset(e schema.Entry) bool {
	switch e.Key {
	case keyName:
		return e.Value == ""
	case keyFramework, keyCreated, keyFlags:
		return e.Value == int64(0)
	}
	return false
}

// set sets the field that corresponds to an entry of a schema's metadata.
func (m *modelInfo) set(e schema.Entry) error {
	switch e.Key {
	case keyName:
		s, ok := e.Value.(string)
		if !ok {
			return fmt.Errorf("%w: value of type %s", format.ErrUnsupported, schema.TypeName(e.Value))
		}
		m.name = s
	case keyFramework:
		return setUnsigned(&m.framework, e.Value)
	case keyCreated:
		return setUnsigned(&m.created, e.Value)
	case keyFlags:
		return setUnsigned(&m.flags, e.Value)
	default:
		return fmt.Errorf("%w: MOBI has no field for it", format.ErrUnsupported)
	}
	return nil
}

// setUnsigned sets a field to a metadata value.
func setUnsigned[T ~uint32 | ~uint64](field *T, v any) error {
	switch v.(type) {
	case int64, json.Number:
	default:
		return fmt.Errorf("%w: value of type %s", format.ErrUnsupported, schema.TypeName(v))
	}
	size := bits.Len64(uint64(^T(0)))
	n, err := strconv.ParseUint(fmt.Sprint(v), 10, size)
	if err != nil {
		return fmt.Errorf("%w: %v is not an unsigned number of %d bits", format.ErrUnsupported, v, size)
	}
	*field = T(n)
	return nil
}
