package tsr

import "github.com/weightmap/weightmap/format"

// WriteOptions changes how files are written. Nil and the zero value work.
type WriteOptions struct {
	format.WriteOptions

	directory bool // set by CreateDir: write a directory in any case
}

// common returns the options that all formats have.
func (o *WriteOptions) common() *format.WriteOptions { return &o.WriteOptions }
