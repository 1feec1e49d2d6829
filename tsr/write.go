package tsr

import (
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// Create starts writing the tensors of p, float32, int8 or int32 of up to four
// dims: to the file at path, or into the directory at path (see [CreateDir])
// when that ends in a separator, is a directory already, or there are several
// tensors. A file does not store its tensor's name: it is read back under that
// of the file.
// A plan that cannot be written is ErrPlan, and ErrUnsupported too for what TSR
// has no place for.
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
func wantsDir(p *driver.Plan, path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir() || path != "" && os.IsPathSeparator(path[len(path)-1]) || len(p.Tensors) > 1
}

// checkPlan refuses what TSR files cannot express.
func checkPlan(p *driver.Plan, o *WriteOptions) error {
	switch {
	case len(p.Tensors) == 0:
		return planError("tensors", "there are none")
	case len(p.Metadata) > 0 && !o.DropMetadata:
		return planError("metadata", fmt.Sprintf("%d entries: TSR has no metadata", len(p.Metadata)))
	case p.Graph != nil && !o.DropMetadata:
		return planError("graph", "TSR has no graph")
	}
	return nil
}

func planError(field, text string) error {
	return wire.Error(name, field, -1, fmt.Errorf("%w: %w: %s", format.ErrPlan, format.ErrUnsupported, text))
}

// layout places one tensor behind its header.
func layout(p *driver.Plan, o *WriteOptions) (*driver.Layout, error) {
	if err := checkPlan(p, o); err != nil {
		return nil, err
	}
	if len(p.Tensors) > 1 {
		return nil, planError("tensors", fmt.Sprintf("%d: one file holds one tensor", len(p.Tensors)))
	}
	h, err := headers(p)
	if err != nil {
		return nil, err
	}
	return &driver.Layout{
		Size:    headerSize + p.Tensors[0].Size,
		Offsets: []int64{headerSize},
		Parts:   []driver.Part{{Bytes: h[0]}},
	}, nil
}

// headers returns those of all tensors of p.
func headers(p *driver.Plan) ([][]byte, error) {
	headers := make([][]byte, len(p.Tensors))
	for i := range p.Tensors {
		t := &p.Tensors[i]
		var err error
		if headers[i], err = encode(t); err != nil {
			return nil, wire.Error(name, fmt.Sprintf("tensor %q", t.Name), -1, fmt.Errorf("%w: %w", format.ErrPlan, err))
		}
	}
	return headers, nil
}
