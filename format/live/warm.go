package live

import (
	"context"

	"github.com/weightmap/weightmap/format"
)

// warm decodes the compressed ones of some tensors and reads the pages of the others into memory.
func warm(ctx context.Context, m *format.Model, names []string) error {
	all := make([]format.Request, len(names))
	for i, name := range names {
		all[i].Tensor = name
	}
	return m.Load(ctx, all, nil)
}

// lock locks tensors in physical memory until the model is closed.
func lock(ctx context.Context, m *format.Model, names []string) error {
	if err := warm(ctx, m, names); err != nil { // also compares checksums
		return err
	}
	for _, name := range names {
		v, err := m.Tensor(name)
		if err == nil {
			err = v.Lock()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
