package format

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// explain adds format and file to an error that lacks them, and the tensor at its offset.
func (m *Model) explain(err error) error {
	if err == nil {
		return nil
	}
	return m.locate(err, m.path, "")
}

// explainTensor is explain for an error of reading a tensor, or of what name "" leaves open.
func (m *Model) explainTensor(err error, name string) error {
	if err == nil {
		return nil
	}
	if name == "" {
		return m.explain(err)
	}
	return m.locate(err, m.path, tensorField(name))
}

// locate adds format, file and field to an error that lacks them. The field is that of the tensor
// at the offset of the error, if there is one.
func (m *Model) locate(err error, path, field string) error {
	err = m.asSigned(err)
	var e *tensor.Error
	if errors.As(err, &e) && e.Field == "" && e.Offset >= 0 {
		field = cmp.Or(m.fieldIn(cmp.Or(e.Path, path), e.Offset), field)
	}
	return wire.Place(err, m.desc.Name, path, field)
}

// asSigned makes a wrong checksum ErrSignature, too, if the model must have a signature inside:
// that covers the checksums.
func (m *Model) asSigned(err error) error {
	t := m.c.trust
	if t == nil || t.key == nil || !errors.Is(err, tensor.ErrChecksum) || errors.Is(err, tensor.ErrSignature) {
		return err
	}
	e, ok := err.(*tensor.Error)
	if !ok {
		return fmt.Errorf("%w%.0w", err, tensor.ErrSignature)
	}
	c := *e
	c.Err = fmt.Errorf("%w%.0w", e.Err, tensor.ErrSignature)
	return &c
}

// about returns an error about a tensor at an offset of the model's file, or -1.
func (m *Model) about(name string, off int64, err error) *tensor.Error {
	return &tensor.Error{Format: m.desc.Name, Path: m.path, Field: tensorField(name), Offset: off, Err: err}
}

func tensorField(name string) string { return fmt.Sprintf("tensor %q", name) }

// fieldIn names the tensor whose bytes contain an offset of the file at a path, or returns "".
func (m *Model) fieldIn(path string, off int64) string {
	for _, f := range m.spaces.files {
		if f.path() == path {
			return m.fieldAt(f.number, off)
		}
	}
	return ""
}

// fieldAt names the tensor whose bytes contain an offset of a space, or returns "".
func (m *Model) fieldAt(n driver.Space, off int64) string {
	for i := range m.index.Len() {
		if s, at, size := m.index.Place(i); s == n && at >= 0 && at <= off && off < at+size {
			return tensorField(m.index.Name(i))
		}
	}
	return ""
}
