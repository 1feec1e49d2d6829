package driver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/tensor"
)

// check returns ErrOption for options that the format lacks.
func check(s *Storage, d Description) error {
	format := d.Name
	for _, wish := range []struct {
		asked bool
		field string
		what  string
	}{
		{s.Compression != "", "Compression", "compression"},
		{s.Signer != nil, "Signer", "signatures"},
		{s.Key != nil, "Key", "encryption"},
		{s.Align != 0 && !(d.Aligns64 && s.Align > 0 && 64%s.Align == 0), "Align", "such alignment"},
		{s.Extended, "Extended", "extensions to choose"},
		{s.ExternalFrom != 0, "ExternalFrom", "external data"},
	} {
		if wish.asked && !slices.Contains(strings.Fields(d.Storage), wish.field) {
			return OptionError(format, wish.field, "%s has no %s", format, wish.what)
		}
	}
	switch {
	case s.Level != 0 && s.Compression == "":
		return OptionError(format, "Level", "%d without a compression", s.Level)
	case s.Level < 0 || s.Level > 9:
		return OptionError(format, "Level", "%d, not 1 to 9", s.Level)
	case s.Align < 0 || s.Align&(s.Align-1) != 0:
		return OptionError(format, "Align", "%d is no power of two", s.Align)
	case s.ExternalFrom < 0:
		return OptionError(format, "ExternalFrom", "%d", s.ExternalFrom)
	}
	return nil
}

// OptionError returns an error that wraps ErrOption.
func OptionError(format, field, text string, args ...any) error {
	return &tensor.Error{Format: format, Field: field, Offset: -1, Err: fmt.Errorf("%w: %s", tensor.ErrOption, fmt.Sprintf(text, args...))}
}

// Configurable is a Driver with options for writing.
type Configurable interface {
	// Configure returns a driver that writes with own, the format's options (nil
	// for those of the receiver); the options that s sets take precedence. It returns
	// ErrOption for invalid options. See OwnOptions.
	Configure(own any, s *Storage) (Driver, error)
}

// Configure returns a driver that writes with the given options.
func Configure(d Driver, own any, s *Storage) (Driver, error) {
	if c, ok := d.(Configurable); ok {
		var err error
		if d, err = c.Configure(own, s); err != nil {
			return nil, err
		}
	} else if own != nil {
		name := d.Describe().Name
		return nil, OptionError(name, "Format", "%T, and %s has no options of its own", own, name)
	}
	return d, check(s, d.Describe())
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
	s := &o.Storage
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
		{"Storage.Compression", s.Compression != ""},
		{"Storage.Level", s.Level != 0},
		{"Storage.Signer", s.Signer != nil},
		{"Storage.Key", s.Key != nil},
		{"Storage.Align", s.Align != 0},
		{"Storage.Extended", s.Extended},
		{"Storage.ExternalFrom", s.ExternalFrom != 0},
		{"Format", o.Format != nil},
		{"Path", o.Path != ""},
	} {
		if field.set {
			return field.name
		}
	}
	return ""
}
