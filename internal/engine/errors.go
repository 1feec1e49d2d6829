package engine

import (
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// explain names format and file in an error that does not, in a copy: errors may be
// kept and handed to several goroutines.
func explain(err error, format, path string) error {
	if err == nil {
		return nil
	}
	var e *tensor.Error
	ok := errors.As(err, &e)
	if !ok {
		return &tensor.Error{Format: format, Path: path, Offset: -1, Err: err}
	}
	if e.Format != "" && (e.Path != "" || path == "") {
		return err
	}
	c := *e
	if c.Format == "" {
		c.Format = format
	}
	if c.Path == "" {
		c.Path = path
	}
	if err != error(e) {
		c.Err = err // what wraps e says more, and its text includes e's
	}
	return &c
}

// Explain is explain for package format.
func Explain(err error, format, path string) error { return explain(err, format, path) }

// errorf makes an error about the model's file.
func (m *Model) errorf(field string, off int64, sentinel error, text string, args ...any) error {
	return &tensor.Error{
		Format: m.desc.Name, Path: m.path, Field: field, Offset: off,
		Err: fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...)),
	}
}

// NotFound is the error for a name that no tensor has.
func NotFound(format, path, name string) error {
	return &tensor.Error{Format: format, Path: path, Field: tensorField(name), Offset: -1, Err: tensor.ErrNotFound}
}

func tensorField(name string) string { return fmt.Sprintf("tensor %q", name) }
