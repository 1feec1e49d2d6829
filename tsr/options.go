package tsr

import "github.com/weightmap/weightmap/format"

// WriteOptions changes how files are written. Nil and the zero value work.
type WriteOptions struct {
	format.WriteOptions

	directory bool // set by CreateDir: write a directory in any case
}

func (o *WriteOptions) orDefault() *WriteOptions {
	if o == nil {
		return &WriteOptions{}
	}
	return o
}
