package tsr

import (
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/sink"
)

// Create starts writing the tensors of p, float32, int8 or int32 of up to four
// dims: to the file at path, or into the directory at path (see [CreateDir])
// when that ends in a separator, is a directory already, or there are several
// tensors. A file does not store its tensor's name: it is read back under that
// of the file, which is the caller's choice.
// What TSR cannot hold is refused with a [format.LossError], or left out
// if the options accept that: metadata, graph, quantization, names in a
// directory that cannot be those of files.
func Create(path string, p *format.Plan, o *WriteOptions) (format.Writer, error) {
	o = o.orDefault()
	return format.With(fileFormat{*o}).Create(path, p, &o.WriteOptions)
}

// NewWriter starts writing the one tensor of p to w, straight through.
func NewWriter(w io.Writer, p *format.Plan, o *WriteOptions) (format.Writer, error) {
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
	if st, err := os.Stat(path); err == nil {
		return st.IsDir()
	}
	_, aside := sink.SetAside(path) // a directory that a killed writer moved away
	return aside
}

// layout puts one tensor behind its header.
func layout(p *driver.Plan) *driver.Layout {
	return &driver.Layout{
		Size:    headerSize + p.Tensors[0].Size,
		Offsets: []int64{headerSize},
		Parts:   []driver.Part{{Bytes: encode(&p.Tensors[0])}},
	}
}
