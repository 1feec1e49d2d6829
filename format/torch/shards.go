package torch

import (
	"bytes"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/internal/wire"
)

// isIndex reports whether a file that begins with head is an index of shards.
func isIndex(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"weight_map"`)) && bytes.Contains(head, []byte(`.bin"`))
}

// joined is a model in several files. Its tensors are those of the parts, in the order of the index.
type joined struct {
	src   driver.Source
	parts []*parsed
	part  []int // by tensor
}

// parseIndex reads an index, and all the files that it names.
func parseIndex(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	f := &joined{src: src}
	var places []place
	join := shards.Model{Format: formatName, Open: func(src driver.Source, s driver.Space, y *driver.Index) error {
		p, err := parseFile(src, s, y, o)
		f.parts = append(f.parts, p)
		return err
	}, Placed: func(part, i int) {
		f.part = append(f.part, part)
		places = append(places, f.parts[part].places[i])
	}}
	if _, _, err := join.Parse(src, x, o); err != nil {
		return nil, err
	}
	for i, p := range f.parts { // which know tensors by their numbers in the model from here on
		p.index, p.places = x, places
		p.mine = func(k int) bool { return f.part[k] == i }
		x.Version = p.version
	}
	return &driver.Parsed{Own: f, Metadata: f.metadata(), Notes: f.notes(), Load: f.Load, Verify: f.Verify, Touch: f.Touch}, nil
}

// Load implements driver.Parsed.
func (f *joined) Load(i int) ([]byte, error) { return f.parts[f.part[i]].Load(i) }

// metadata joins that of all files: the first of a key counts.
func (f *joined) metadata() (all driver.Metadata) {
	seen := make(map[string]bool)
	for _, p := range f.parts {
		for _, e := range p.meta {
			if !seen[e.Key] {
				seen[e.Key] = true
				all = append(all, e)
			}
		}
	}
	return all
}

// notes joins those of all files.
func (f *joined) notes() (notes []string) {
	for _, p := range f.parts {
		notes = append(notes, p.notes...)
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// Touch implements driver.Parsed.
func (f *joined) Touch(v driver.Verification, i int) (bool, error) {
	return f.parts[f.part[i]].Touch(v, i)
}

// Verify implements driver.Parsed.
func (f *joined) Verify(v driver.Verification) error {
	for _, p := range f.parts {
		if err := wire.InFile(p.Verify(v), p.src.Path()); err != nil {
			return err
		}
	}
	return nil
}
