package wire

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/tensor"
)

// An error says where it is: format, path, field, offset. Where it arises, Error, Errorf or Refuse
// say what is known there, mostly field and offset. A function that passes it on and knows more calls
// Place, which adds what is missing and changes nothing: what the place of the error said is right.

// Error returns a tensor.Error for a field at a file offset (-1 for none).
func Error(format, field string, offset int64, err error) error {
	return &tensor.Error{Format: format, Field: field, Offset: offset, Err: err}
}

// Errorf is Error with a sentinel and a text, as in "checksum mismatch: ...". A %w in
// the text wraps a cause.
func Errorf(format, field string, offset int64, sentinel error, text string, args ...any) error {
	return Error(format, field, offset, fmt.Errorf("%w: %w", sentinel, fmt.Errorf(text, args...)))
}

// Refuse is Errorf for a field of a schema that cannot be written, with the sentinel
// tensor.ErrSchema.
func Refuse(format, field, text string, args ...any) error {
	return Errorf(format, field, -1, tensor.ErrSchema, text, args...)
}

// Place adds format, path and field to an error that lacks them; "" is not known. It returns a
// copy, since errors may be shared by several goroutines.
func Place(err error, format, path, field string) error {
	if err == nil {
		return nil
	}
	var e *tensor.Error
	if !errors.As(err, &e) {
		return &tensor.Error{Format: format, Path: path, Field: field, Offset: -1, Err: err}
	}
	c := *e
	c.Format = cmp.Or(c.Format, format)
	c.Path = cmp.Or(c.Path, path)
	c.Field = cmp.Or(c.Field, field)
	if c.Format == e.Format && c.Path == e.Path && c.Field == e.Field {
		return err
	}
	if err != error(e) {
		c.Err = err // the error that wraps e has more text, including e's
	}
	return &c
}
