package tsr

import (
	"fmt"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// parseDir opens all .tsr files of a directory as one model.
func parseDir(dir driver.Dir, x *driver.Index, o *driver.Options) (*parsed, error) {
	entries, err := dir.Entries()
	if err != nil {
		return nil, err
	}
	names, others := members(entries)
	if len(names) == 0 {
		return nil, wire.Errorf(name, "directory", -1, format.ErrCorrupt, "no %s file in it", extension)
	}
	if len(names) > o.MaxTensors {
		return nil, wire.Errorf(name, "directory", -1, format.ErrLimit, "%d tensors, at most %d are allowed", len(names), o.MaxTensors)
	}
	x.Version = "1"
	x.Grow(len(names), nameBytes(names), maxRank*len(names))
	f := &parsed{notes: note(others), parts: make([]part, 0, len(names))}
	for _, n := range names {
		if err := o.Context.Err(); err != nil {
			return nil, err
		}
		src, space, err := dir.Open(n)
		if err != nil {
			return nil, err
		}
		tensorName, err := nameOf(src.Path())
		if err == nil {
			err = f.add(src, space, tensorName, x)
		}
		if err != nil {
			return nil, wire.InFile(err, src.Path())
		}
	}
	return f, nil
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
