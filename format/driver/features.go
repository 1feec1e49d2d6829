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

// check returns ErrOption for options that the format lacks.
func check(o *WriteOptions, d Description) error {
	for _, wish := range []struct {
		asked bool
		needs Features
		field string
		what  string
	}{
		{o.Compression != "", Compresses, "Compression", "compression"},
		{o.Signer != nil, Signs, "Signer", "signatures"},
		{o.Key != nil, Encrypts, "Key", "encryption"},
		{o.Align != 0 && !isMet64(o.Align, d), Aligns, "Align", "such alignment"},
		{o.Extended, Extends, "Extended", "extensions to choose"},
		{o.ExternalFrom != 0, MovesData, "ExternalFrom", "external data"},
	} {
		if wish.asked && d.Stores&wish.needs == 0 {
			return OptionError(d.Name, wish.field, "%s has no %s", d.Name, wish.what)
		}
	}
	switch {
	case o.Level != 0 && o.Compression == "":
		return OptionError(d.Name, "Level", "%d without a compression", o.Level)
	case o.Level < 0 || o.Level > 9:
		return OptionError(d.Name, "Level", "%d, not 1 to 9", o.Level)
	case o.Align < 0 || o.Align&(o.Align-1) != 0:
		return OptionError(d.Name, "Align", "%d is no power of two", o.Align)
	case o.ExternalFrom < 0:
		return OptionError(d.Name, "ExternalFrom", "%d", o.ExternalFrom)
	}
	return nil
}

// isMet64 reports whether tensors have an alignment since the format always aligns them at 64.
func isMet64(align int64, d Description) bool {
	return d.Stores&Aligns64 != 0 && align > 0 && 64%align == 0
}

// OptionError returns an error that wraps ErrOption.
func OptionError(format, field, text string, args ...any) error {
	return &tensor.Error{Format: format, Field: field, Offset: -1, Err: fmt.Errorf("%w: %s", tensor.ErrOption, fmt.Sprintf(text, args...))}
}

// Configurable is a Driver with options for writing.
type Configurable interface {
	// Configure returns a driver that writes with own, the format's options (nil
	// for those of the receiver); Compression and what else common sets take precedence. It returns
	// ErrOption for invalid options. See OwnOptions.
	Configure(own any, common *WriteOptions) (Driver, error)
}

// Configure returns a driver that writes with the given options.
func Configure(d Driver, own any, common *WriteOptions) (Driver, error) {
	if c, ok := d.(Configurable); ok {
		var err error
		if d, err = c.Configure(own, common); err != nil {
			return nil, err
		}
	} else if own != nil {
		name := d.Describe().Name
		return nil, OptionError(name, "Format", "%T, and %s has no options of its own", own, name)
	}
	return d, check(common, d.Describe())
}

// OwnOptions converts the options of a format from any: own must be a T, a *T, or nil, which
// means def. Any other type is ErrOption. common returns the options for any format that are embedded in a T; they must be
// zero, since those around own apply. It is nil if there are none.
func OwnOptions[T any](format string, own any, def T, common func(*T) *WriteOptions) (T, error) {
	var o T
	switch own := own.(type) {
	case nil:
		return def, nil
	case T:
		o = own
	case *T:
		if own == nil {
			return def, nil
		}
		o = *own
	default:
		return def, OptionError(format, "Format", "%T, not %T", own, &def)
	}
	if common == nil {
		return o, nil
	}
	if common(&def).Format != nil {
		return def, OptionError(format, "Format", "%T inside options of the same format", own)
	}
	if field := firstSet(common(&o)); field != "" {
		return def, OptionError(format, "Format", "%s is set inside the options of the format: set it in the WriteOptions around them", field)
	}
	return o, nil
}

// firstSet returns the name of a field that is not zero, or "".
func firstSet(o *WriteOptions) string {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"Context", o.Context != nil},
		{"Progress", o.Progress != nil},
		{"Time", !o.Time.IsZero()},
		{"NoSync", o.NoSync},
		{"KeepOld", o.KeepOld},
		{"Spool", o.Spool != 0},
		{"AcceptLoss", len(o.AcceptLoss) > 0},
		{"KeepNames", o.KeepNames},
		{"MaxShard", o.MaxShard != 0},
		{"Compression", o.Compression != ""},
		{"Level", o.Level != 0},
		{"Signer", o.Signer != nil},
		{"Key", o.Key != nil},
		{"Align", o.Align != 0},
		{"Extended", o.Extended},
		{"ExternalFrom", o.ExternalFrom != 0},
		{"Format", o.Format != nil},
		{"Path", o.Path != ""},
	} {
		if field.set {
			return field.name
		}
	}
	return ""
}
