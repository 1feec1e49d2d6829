package tsr

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// parseDir reads the headers of all .tsr files of a directory, which are one model.
func parseDir(dir driver.Dir, x *driver.Index, o *driver.Options) (*parsed, error) {
	entries, err := dir.Entries()
	if err != nil {
		return nil, err
	}
	names, others := members(entries)
	if len(names) == 0 {
		return nil, wire.Errorf(name, "directory", -1, format.ErrCorrupt, "no %s file in it", extension)
	}
	if len(names) > driver.MaxTensors {
		return nil, wire.Errorf(name, "directory", -1, format.ErrLimit, "%d tensors, at most %d are allowed", len(names), driver.MaxTensors)
	}
	x.Version = "1"
	x.Grow(len(names), nameBytes(names), maxRank*len(names))
	f := &parsed{index: x, dir: dir, notes: note(others)}
	// A batch at a time, for a caller who has had enough.
	for batch := range slices.Chunk(names, 1024) {
		if err := o.Context.Err(); err != nil {
			return nil, err
		}
		heads, err := dir.Peek(batch, headerSize)
		if err != nil {
			return nil, err
		}
		for i, h := range heads {
			if err := f.addFile(&h, batch[i]); err != nil {
				return nil, wire.InFile(err, filepath.Join(dir.Path(), batch[i]))
			}
		}
	}
	return f, nil
}

// addFile lists the tensor of a file of the directory.
func (f *parsed) addFile(p *driver.Peek, file string) error {
	if p.Err != nil {
		return p.Err
	}
	tensorName, err := nameOf(file)
	if err != nil {
		return err
	}
	if err := f.header.decode(p.Head, p.Size); err != nil {
		return err
	}
	return f.add(p.Space, tensorName)
}

// members sorts out which entries are files of the model. A link that leads
// nowhere still promises one: opening it says what is wrong.
func members(entries []driver.DirEntry) (names, others []string) {
	for _, e := range entries {
		if (e.Regular || e.Err != nil) && strings.HasSuffix(e.Name, extension) {
			names = append(names, e.Name)
		} else {
			others = append(others, e.Name)
		}
	}
	return names, others
}

func nameBytes(names []string) int {
	total := 0
	for _, n := range names {
		total += len(n) - len(extension)
	}
	return total
}

// note says which entries of a directory were ignored.
func note(others []string) []string {
	const most = 5
	if len(others) == 0 {
		return nil
	}
	text := fmt.Sprintf("ignored, not regular %s files: %q", extension, others[:min(most, len(others))])
	if more := len(others) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return []string{text}
}
