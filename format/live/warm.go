package live

import (
	"context"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// touched keeps the compiler from leaving out what is read for nothing else.
var touched atomic.Uint32

// warm has all of a model in memory: decoded, or its pages in the page table.
func warm(ctx context.Context, m *format.Model) error {
	if err := m.Prefetch(); err != nil {
		return err
	}
	for _, v := range m.Tensors() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := touch(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// lock keeps tensors in physical memory until the model is closed.
func lock(ctx context.Context, m *format.Model, names []string) error {
	for _, name := range names {
		v, err := m.Tensor(name)
		if err == nil {
			err = touch(ctx, v) // which decodes what is not in a mapping, and checks checksums
		}
		if err == nil {
			err = v.Lock()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// touch reads a byte of every page of a tensor.
func touch(ctx context.Context, v tensor.View) error {
	const page, often = 4 << 10, 64 << 20
	return v.Use(func(b []byte) error {
		sum := byte(0)
		for i := 0; i < len(b); i += page {
			if sum ^= b[i]; i%often == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		touched.Store(uint32(sum))
		return nil
	})
}
