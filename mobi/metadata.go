package mobi

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/plan"
)

// The keys of File.Metadata and of the metadata of a plan.
const (
	keyName      = "name"               // string
	keyFramework = "framework_version"  // int64, 0 to 2^32-1
	keyCreated   = "creation_timestamp" // int64 or json.Number, 0 to 2^64-1, Unix seconds
	keyFlags     = "flags"              // int64, 0 to 2^32-1
)

func (f *parsed) metadata() plan.Metadata {
	f.entries = [...]plan.Entry{
		{Key: keyName, Value: f.model.name},
		{Key: keyFramework, Value: int64(f.model.framework)},
		{Key: keyCreated, Value: plan.Number(f.model.created)},
		{Key: keyFlags, Value: int64(f.header.Flags)},
	}
	return f.entries[:]
}

// set sets the field that corresponds to an entry of a plan's metadata.
func (m *modelInfo) set(e plan.Entry) (err error) {
	var n uint64
	switch e.Key {
	case keyName:
		s, ok := e.Value.(string)
		if !ok {
			return fmt.Errorf("%w: value of type %s", format.ErrUnsupported, plan.TypeName(e.Value))
		}
		m.name = s
	case keyFramework:
		n, err = unsigned(e.Value, 32)
		m.framework = uint32(n)
	case keyCreated:
		m.created, err = unsigned(e.Value, 64)
	case keyFlags:
		n, err = unsigned(e.Value, 32)
		m.flags = Flags(n)
	default:
		err = fmt.Errorf("%w: MOBI has no field for it", format.ErrUnsupported)
	}
	return err
}

// unsigned converts a metadata value to an unsigned number of the given bits.
func unsigned(v any, bits int) (uint64, error) {
	switch v.(type) {
	case int64, json.Number:
	default:
		return 0, fmt.Errorf("%w: value of type %s", format.ErrUnsupported, plan.TypeName(v))
	}
	n, err := strconv.ParseUint(fmt.Sprint(v), 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%w: %v is not an unsigned number of %d bits", format.ErrUnsupported, v, bits)
	}
	return n, nil
}
