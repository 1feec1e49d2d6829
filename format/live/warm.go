package live

import (
	"context"

	"github.com/weightmap/weightmap/format"
)

// warm decodes compressed tensors and reads all other pages into memory.
func warm(ctx context.Context, m *format.Model) error {
	var all []format.Request
	for name := range m.Tensors() {
		all = append(all, format.Request{Tensor: name})
	}
	return m.Load(ctx, all, nil)
}

// lock locks tensors in physical memory until the model is closed.
func lock(ctx context.Context, m *format.Model, names []string) error {
	hot := make([]format.Request, len(names))
	for i, name := range names {
		hot[i].Tensor = name
	}
	if err := m.Load(ctx, hot, nil); err != nil { // decodes compressed tensors and compares checksums
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
