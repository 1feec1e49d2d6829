package mobile

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/oneline"
)

// String describes the options without the key, on one line.
func (o Options) String() string {
	return oneline.Struct("Options", "Format", o.Format, "Check", o.Check, "Key", oneline.Secret(o.Key != nil), "Dir", o.Dir, "MaxMemory", o.MaxMemory,
		"CacheBytes", o.CacheBytes, "Lock", o.Lock, "Debug", o.Debug)
}

// GoString implements fmt.GoStringer like String.
func (o Options) GoString() string { return o.String() }

// String describes the model on one line.
func (m *Model) String() string {
	if m == nil {
		return "no model"
	}
	return m.m.String()
}

// GoString implements fmt.GoStringer like String.
func (m *Model) GoString() string { return m.String() }

// String describes the tensor on one line.
func (t *Tensor) String() string {
	if t == nil {
		return "no tensor"
	}
	return fmt.Sprint(t.view)
}

// GoString implements fmt.GoStringer like String.
func (t *Tensor) GoString() string { return t.String() }
