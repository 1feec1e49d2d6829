package format

import (
	"fmt"

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
