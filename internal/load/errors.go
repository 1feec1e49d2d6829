package load

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// explain adds format and file to an error that lacks them.
func (m *Model) explain(err error) error { return wire.Explain(err, m.desc.Name, m.path) }

// errorf returns an error about a part of the model's file.
func (m *Model) errorf(field string, sentinel error, text string, args ...any) error {
	return m.explain(wire.Errorf("", field, -1, sentinel, text, args...))
}

// NotFound returns the error for a tensor that does not exist.
func NotFound(format, path, name string) error {
	return &tensor.Error{Format: format, Path: path, Field: tensorField(name), Offset: -1, Err: tensor.ErrNotFound}
}

func tensorField(name string) string { return fmt.Sprintf("tensor %q", name) }
