package engine

import (
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/sink"
)

// dirEncoder writes a directory with a file for each tensor.
type dirEncoder struct {
	layout *driver.Layout
	dir    *sink.Dir
	sync   bool
}

func newDirEncoder(l *driver.Layout, c *WriteConfig) (*dirEncoder, error) {
	if len(l.Files) == 0 || len(l.Parts) != len(l.Files) {
		return nil, fmt.Errorf("%w: the layout has %d files and %d parts", driver.ErrPlan, len(l.Files), len(l.Parts))
	}
	dir, err := sink.CreateDir(c.Options.Path, c.Driver.Describe().Extensions[0])
	if err != nil {
		return nil, err
	}
	return &dirEncoder{l, dir, !c.Options.NoSync}, nil
}

// Tensor implements driver.Encoder.
func (d *dirEncoder) Tensor(i int, in driver.Input) error {
	return d.dir.Write(d.layout.Files[i], d.sync, func(t sink.Target) error {
		head := d.layout.Parts[i].Bytes
		if _, err := t.WriteAt(head, 0); err != nil {
			return err
		}
		return in.CopyTo(t, int64(len(head)), nil)
	})
}

// Finish implements driver.Encoder.
func (d *dirEncoder) Finish() error { return d.dir.Commit(d.sync) }

// Close removes what was not put in place.
func (d *dirEncoder) Close() error { return d.dir.Abort() }
