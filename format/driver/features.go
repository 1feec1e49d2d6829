package driver

import (
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// Features are the options of WriteOptions that a format may lack.
type Features uint16

// The features of formats.
const (
	Compresses Features = 1 << iota // Compression, Level
	Signs                           // Signer
	Encrypts                        // Key
	Aligns                          // any Align
	Aligns64                        // tensors are always aligned at 64, which is any smaller Align too
	Extends                         // Extended
	MovesData                       // ExternalFrom
)

// String lists the names of the options: "Compression Key".
func (f Features) String() string {
	var names []string
	for _, o := range []struct {
		has  Features
		name string
	}{
		{Compresses, "Compression"},
		{Signs, "Signer"},
		{Encrypts, "Key"},
		{Aligns, "Align"},
		{Aligns64, "Align64"},
		{Extends, "Extended"},
		{MovesData, "ExternalFrom"},
	} {
		if f&o.has != 0 {
			names = append(names, o.name)
		}
	}
	return strings.Join(names, " ")
}

// OptionError returns an error that wraps ErrOption.
func OptionError(format, field, text string, args ...any) error {
	return &tensor.Error{Format: format, Field: field, Offset: -1, Err: fmt.Errorf("%w: %s", tensor.ErrOption, fmt.Sprintf(text, args...))}
}
