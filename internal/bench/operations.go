package bench

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

// Mapping returns a function that maps files one by one.
func Mapping(paths ...string) func() error {
	return func() error {
		for _, path := range paths {
			if err := floor.Map(path); err != nil {
				return err
			}
		}
		return nil
	}
}

// Opening returns a function that opens a file by detection and closes it.
func Opening(path string) func() error {
	return func() error {
		m, err := format.Open(path, nil)
		if err != nil {
			return err
		}
		return m.Close()
	}
}

// Loading returns a function that opens a file and reads every byte of its tensors.
func Loading(path string, o *format.Options) func() error {
	return func() error {
		f, err := format.Open(path, o)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, v := range f.Tensors() {
			if err := v.Use(func(p []byte) error { floor.Read(p); return nil }); err != nil {
				return err
			}
		}
		return nil
	}
}

// Reading returns a function that reads every byte of a view with that number of goroutines.
func Reading(v tensor.View, workers int) func() error {
	return func() error {
		return v.Use(func(data []byte) error { floor.ReadOn(workers, data); return nil })
	}
}
