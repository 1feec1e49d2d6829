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
func (p *parser) parsePlain() error {
	p.index.Version = "pickle"
	p.file.Plain = true
	size := p.file.Src.Size()
	p.held = zip.Entry{File: p.file, Stored: size, Size: size}
	h := driver.ReadHead(p.file.Src, p.opts)
	m := pickle.New(wire.HeadRecord("", h, 0, size), 0, -1, p.opts.Memory)
	defer m.Release()
	err := p.readPlain(m)
	closed := h.Close(m.Offset())
	if err != nil {
		return err
	}
	return closed
}

func (p *parser) readPlain(m *pickle.Machine) error {
	root := m.Run()
	err := m.Err()
	if err != nil {
		return explainPickle(m, err)
	}
	err = p.walk.Find(m, root, m.Offset(), "")
	if err != nil {
		return err
	}
	if p.walk.Tensors == 0 {
		what := cmp.Or(foreign.Pickle(m.Packages()), foreign.ByName(p.file.Src.Path()))
		if what == "" {
			what = fmt.Sprintf("a Python pickle of a value of type %.200s, without tensors or arrays",
				m.KindOf(root))
		}
		return wire.Error("", "pickle", 0, foreign.Error(what, format.ErrMagic))
	}
	left := m.Left()
	if left > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%d bytes follow the pickle", left))
	}
	return nil
}

// explainPickle says whose pickle it is that cannot be read, if its packages tell.
func explainPickle(m *pickle.Machine, err error) error {
	what := foreign.Pickle(m.Packages())
	if what == "" {
		return err
	}
	return wire.Error("", "pickle", 0, foreign.Error(what, err))
}
