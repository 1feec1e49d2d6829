package safetensors

import (
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// Native implements driver.Parsed: a copy within the format keeps tensors of dtypes that are
// not known, whose names mean nothing elsewhere.
func (f *parsed) Native() (*driver.Native, error) {
	if !f.listed {
		return nil, nil
	}
	return &driver.Native{Format: formatName}, nil
}

// Metadata implements driver.Parsed.
func (f *parsed) Metadata() (driver.Metadata, error) {
	m, _, err := f.merged()
	return m, err
}

// merged returns the metadata of all files: that of the index but for what it counts,
// then the entries of the shards, equal ones once. differ counts entries that are left
// out because another shard says something else.
func (f *parsed) merged() (all driver.Metadata, differ int, err error) {
	var at map[string]int
	if f.shards != nil {
		at = make(map[string]int)
	}
	for i := range f.texts {
		raw := f.texts[i].metadata
		if raw == nil {
			continue
		}
		m, err := jsonmeta.Metadata(raw)
		if err != nil {
			return nil, 0, err
		}
		if at == nil {
			return m, 0, nil
		}
		for _, e := range m {
			j, taken := at[e.Key]
			switch {
			case i == 0 && (e.Key == "total_size" || e.Key == "total_parameters"):
			case !taken:
				at[e.Key] = len(all)
				all = append(all, e)
			case !same(all[j].Value, e.Value):
				differ++
			}
		}
	}
	return all, differ, nil
}

// same compares values, of which raw JSON is never the same.
func same(a, b any) bool {
	s, ok := a.(string)
	t, also := b.(string)
	return ok && also && s == t
}

// notes lists what is tolerable but worth knowing.
func (f *parsed) notes() []string {
	var notes []string
	if f.unlisted > 0 {
		notes = append(notes, fmt.Sprintf("tensors of shards that the index does not name, and that are left out: %d", f.unlisted))
	}
	if f.shards != nil {
		if _, n, err := f.merged(); err == nil && n > 0 {
			notes = append(notes, fmt.Sprintf("metadata entries that differ between files, of which the first counts: %d", n))
		}
	}
	return notes
}
