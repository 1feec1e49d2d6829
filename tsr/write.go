package tsr

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// Create starts writing the tensors of p, float32, int8 or int32 of up to four
// dims: to the file at path, or into the directory at path (see [CreateDir])
// when that ends in a separator, is a directory already, or there are several
// tensors. A file does not store its tensor's name: it is read back under that
// of the file, which is the caller's choice.
// What TSR cannot hold is refused with a [format.LossError], or left out
// if the options accept that: metadata, graph, quantization, names in a
// directory that cannot be those of files.
func Create(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing the one tensor of p to w, straight through.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).NewWriter(w, p, &o.WriteOptions)
}

// wantsDir decides between a file and a directory.
func (d fileFormat) wantsDir(p *driver.Plan, path string) bool {
	if d.opts.directory {
		return true
	}
	if path == "" {
		return false
	}
	if len(p.Tensors) > 1 || os.IsPathSeparator(path[len(path)-1]) {
		return true
	}
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// layout puts each tensor behind its header: one in a file, or all in files of a directory.
func layout(p *driver.Plan, dir bool) *driver.Layout {
	l := &driver.Layout{}
	for i := range p.Tensors {
		l.Parts = append(l.Parts, driver.Part{Bytes: encode(&p.Tensors[i])})
	}
	if dir {
		l.Files, _ = fileNames(p.Tensors)
		return l
	}
	l.Size, l.Offsets = headerSize+p.Tensors[0].Size, []int64{headerSize}
	return l
}

// CreateDir starts writing a directory with a file "<name>.tsr" for each tensor
// of p. It appears at path, whose parent must exist, when the writer is closed. Only an
// empty directory is replaced; a path with anything else is refused. See
// [Create] for what p may contain; names must also work as file names (see the
// package documentation).
func CreateDir(path string, p *format.Plan, o *WriteOptions) (*format.Writer, error) {
	c := *o.orDefault()
	c.directory = true
	return Create(path, p, &c)
}
