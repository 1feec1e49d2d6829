package mobi

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
)

// The keys of File.Metadata, which a plan's metadata may carry likewise.
const (
	keyName      = "name"               // string
	keyFramework = "framework_version"  // int64, 0 to 2^32-1
	keyCreated   = "creation_timestamp" // int64 or json.Number, 0 to 2^64-1, Unix seconds
	keyFlags     = "flags"              // int64, 0 to 2^32-1
)

// number returns an unsigned number as metadata hold it.
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
		return 0, fmt.Errorf("%w: value of type %T", format.ErrUnsupported, v)
	}
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%w: %s is no unsigned number of %d bits", format.ErrUnsupported, text, bits)
	}
	return n, nil
}
