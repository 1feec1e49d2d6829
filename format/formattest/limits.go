package formattest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// badOptions: options that make no sense are refused, in all ways to open a file.
func (x *subject) badOptions(t *testing.T) {
	for name, change := range map[string]func(*format.Options){
		"MaxTensors":       func(o *format.Options) { o.MaxTensors = -1 },
		"MaxHeaderBytes":   func(o *format.Options) { o.MaxHeaderBytes = -1 },
		"MaxMetadataBytes": func(o *format.Options) { o.MaxMetadataBytes = -1 },
		"MaxGraphBytes":    func(o *format.Options) { o.MaxGraphBytes = -1 << 63 },
		"MaxMemory":        func(o *format.Options) { o.MaxMemory = -1 },
		"CacheBytes":       func(o *format.Options) { o.CacheBytes = -1 },
		"MaxMapped":        func(o *format.Options) { o.MaxMapped = -1 },
		"Check":            func(o *format.Options) { o.Check = format.CheckAll + 1 },
	} {
		for _, way := range x.ways(x.file, x.with(change)) {
			m, err := way.open(t)
			if err == nil {
				m.Close()
			}
			isOptionError(t, way.name+" with a senseless "+name, name, err)
		}
	}
	m := x.openBytes(t, x.file)
	defer m.Close()
	_, err := m.Verify(context.Background(), format.WithWorkers(-1))
	isOptionError(t, "Verify with fewer than no workers", "WithWorkers", err)
	if x.writer.Name() != "" {
		_, err = x.writer.NewWriter(io.Discard, x.s.Plan, x.options(func(o *format.WriteOptions) { o.Spool = format.SpoolNever + 1 }))
		isOptionError(t, "NewWriter with an unknown Spool", "Spool", err)
	}
	// What is zero, or nil, means the default.
	if err := x.verified(m, format.VerifyOption{}, format.WithWorkers(0), format.WithTensors(), format.WithProgress(nil)); err != nil {
		t.Errorf("Verify with options that say nothing: %v", err)
	}
	// A key that was not found is no key that was not given.
	if err := x.verified(m, format.WithTrustedKey(nil)); !errors.Is(err, format.ErrKey) {
		t.Errorf("Verify with a key that is nil: %v, want %v", err, format.ErrKey)
	}
	if x.s.Options == nil {
		m, err := x.codec.OpenBytes(x.file, &format.Options{})
		if err != nil {
			t.Fatalf("opening with zero options: %v", err)
		}
		m.Close()
	}
}

// isOptionError demands ErrOption that names the option.
func isOptionError(t *testing.T, what, option string, err error) {
	t.Helper()
	var e *format.Error
	if !errors.Is(err, format.ErrOption) || !errors.As(err, &e) || e.Field != option {
		t.Errorf("%s = %v, want ErrOption that names it", what, err)
	}
}

// maxTensors: a file with more tensors than allowed is refused.
func (x *subject) maxTensors(t *testing.T) {
	n := len(x.base.Plan.Tensors)
	if n < 2 {
		t.Skip("takes two tensors")
	}
	m, err := x.codec.OpenBytes(x.file, x.with(func(o *format.Options) { o.MaxTensors = n - 1 }))
	if err == nil {
		m.Close()
		t.Fatalf("%d tensors open with MaxTensors %d", n, n-1)
	}
	if !errors.Is(err, format.ErrLimit) {
		t.Errorf("%d tensors with MaxTensors %d: %v, want ErrLimit", n, n-1, err)
	}
	if m, err = x.codec.OpenBytes(x.file, x.with(func(o *format.Options) { o.MaxTensors = n })); err != nil {
		t.Fatalf("%d tensors with as many allowed: %v", n, err)
	}
	m.Close()
}

// maxHeaderBytes: a structure that must be read into memory and is larger than
// allowed is refused. A sample may have next to none.
func (x *subject) maxHeaderBytes(t *testing.T) {
	o := x.with(func(o *format.Options) { o.MaxHeaderBytes = 1 })
	m, err := x.codec.OpenReaderAt(bytes.NewReader(x.file), int64(len(x.file)), o)
	if err == nil {
		m.Close()
		t.Skip("the sample has no structure that counts")
	}
	if !errors.Is(err, format.ErrLimit) {
		t.Errorf("opening with MaxHeaderBytes 1: %v, want ErrLimit", err)
	}
}

// maxMemory: a model that takes more memory than allowed is refused, whether it is
// mapped or read, and one that is allowed enough can be used as always.
func (x *subject) maxMemory(t *testing.T) {
	if len(x.base.Plan.Tensors) == 0 {
		t.Skip("takes a tensor")
	}
	for _, way := range x.ways(x.file, x.with(func(o *format.Options) { o.MaxMemory = 1 })) {
		m, err := way.open(t)
		if err == nil {
			m.Close()
		}
		if !errors.Is(err, format.ErrLimit) || !strings.Contains(err.Error(), "MaxMemory") {
			t.Errorf("%s with MaxMemory 1: %v, want ErrLimit that names the option", way.name, err)
		}
	}
	for _, way := range x.ways(x.file, x.with(func(o *format.Options) { o.MaxMemory = 64<<20 + 16*int64(len(x.file)) })) {
		m, err := way.open(t)
		if err != nil {
			t.Errorf("%s with MaxMemory enough: %v", way.name, err)
			continue
		}
		for name, v := range m.Tensors() {
			if err := v.Use(func([]byte) error { return nil }); err != nil && !m.NeedsKey() {
				t.Errorf("%s with MaxMemory enough: %s: %v", way.name, name, err)
			}
		}
		m.Close()
	}
}
