package live

import (
	"context"

	"github.com/weightmap/weightmap/format"
)

// warm has all of a model in memory: decoded, or its pages in the page table.
func warm(ctx context.Context, m *format.Model) error {
	var all []format.Request
	for name := range m.Tensors() {
		all = append(all, format.Request{Tensor: name})
	}
	return m.Load(ctx, all, nil)
}

// lock keeps tensors in physical memory until the model is closed.
func lock(ctx context.Context, m *format.Model, names []string) error {
	hot := make([]format.Request, len(names))
	for i, name := range names {
		hot[i].Tensor = name
	}
	if err := m.Load(ctx, hot, nil); err != nil { // which decodes what is not in a mapping, and checks checksums
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
