package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
)

// writeVerdicts measures writing from memory without waiting for the disk, relative to plain writes.
func writeVerdicts() (all []verdict) {
	large, many := Models[1], Models[2]
	for _, name := range []string{"mag", "mle", "tsr", "mobi"} {
		l := large
		if name == "tsr" {
			l = single(large)
		}
		for _, c := range []struct {
			name  string
			m     Model
			limit float64
		}{{"100MB", l, 1.15}, {"10000", many, 3}} {
			all = append(all, verdict{name: "write/" + name + "/" + c.name, limit: c.limit, figure: func(b *testing.B) float64 {
				_, data := c.m.Plan()
				return PairWrites(b, name, File(b, name, c.m), data, false)
			}})
		}
	}
	return append(all, verdict{name: "write/onnx-10000-to-mag", limit: 3, figure: func(b *testing.B) float64 {
		dir := b.TempDir()
		return floor.PairsOf(b, floor.Rounds, writing(dir, "onnx", many), writing(dir, "mag", many)).Ratio
	}})
}

// writing returns a round that writes a model without waiting for the disk.
func writing(dir, name string, m Model) floor.Round {
	path := filepath.Join(dir, name)
	return floor.Then(func() error {
		_, err := Write(name, path, m, &format.WriteOptions{NoSync: true})
		return err
	}, func() error { return os.RemoveAll(path) })
}

// PairWrites measures writing data as the files of f, relative to writing it as plain files.
func PairWrites(b *testing.B, name string, f Written, data []byte, sync bool) float64 {
	dir := b.TempDir()
	ours, theirs := filepath.Join(dir, "model"), filepath.Join(dir, "copy")
	o := &format.WriteOptions{NoSync: !sync}
	plainly := func() error { return CopyOnce(theirs, data, sync) }
	if len(f.Paths) > 1 {
		plainly = func() error { return copyEach(theirs, f.Plan, data, sync) }
	}
	// Freeing a file's pages takes as long as writing some, so both sides start without a file.
	r := floor.PairsOf(b, floor.Rounds, floor.Then(func() error {
		w, err := format.Create(name, ours, f.Plan, o)
		if err != nil {
			return err
		}
		return feed(w, f.Plan, data)
	}, func() error { return os.RemoveAll(ours) }), floor.Then(plainly, func() error { return os.RemoveAll(theirs) }))
	return r.Ratio
}

// CopyOnce writes data to a new file with one write.
func CopyOnce(path string, data []byte, sync bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// copyEach writes each tensor to a new file in a new directory.
func copyEach(dir string, p *format.Plan, data []byte, sync bool) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	for i, t := range p.Tensors {
		if err := CopyOnce(filepath.Join(dir, strconv.Itoa(i)), data[:t.Size], sync); err != nil {
			return err
		}
		data = data[t.Size:]
	}
	return nil
}
