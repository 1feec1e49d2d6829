package torch

import (
	"cmp"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/pickle"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
)

// parsePlain parses a file that is a single pickle with arrays or tensors in it.
func (r *reading) parsePlain() error {
	r.x.Version = "pickle"
	r.file.Plain = true
	size := r.file.Src.Size()
	r.held = zip.Entry{File: r.file, Stored: size, Size: size}
	h := driver.ReadHead(r.file.Src, r.o)
	m := pickle.New(wire.HeadRecord("", h, size), 0, -1, r.o.Memory)
	defer m.Release()
	err := r.readPlain(m)
	closed := h.Close(m.Offset())
	if err != nil {
		return err
	}
	return closed
}

func (r *reading) readPlain(m *pickle.Machine) error {
	root := m.Run()
	if err := m.Err(); err != nil {
		if what := foreign.Pickle(m.Packages()); what != "" {
			return wire.Error("", "pickle", 0, foreign.Error(what, err))
		}
		return err
	}
	end := m.Offset()
	if err := r.walk.Find(m, root, end, ""); err != nil {
		return err
	}
	if r.walk.Tensors == 0 {
		what := cmp.Or(foreign.Pickle(m.Packages()), foreign.ByName(r.file.Src.Path()))
		if what == "" {
			what = fmt.Sprintf("a Python pickle of a value of type %.200s, without tensors or arrays", m.KindOf(root))
		}
		return wire.Error("", "pickle", 0, foreign.Error(what, format.ErrMagic))
	}
	if left := m.Left(); left > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d bytes follow the pickle", left))
	}
	return nil
}
