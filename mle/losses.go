package mle

import (
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/tensor"
)

// Losses implements driver.Writer.
func (d fileFormat) Losses(p *schema.Schema, o *driver.LayoutOptions, l *schema.LossList) error {
	c, err := d.settings(o)
	if err != nil {
		return err
	}
	if c.Quantized {
		quantizedLosses(p, l)
		p = asFloats(p)
	} else {
		l.DTypes(p, "MLE", dtypes[:4])
	}
	l.AllQuantization(p, "MLE stores scales only with int8 compression")
	metadataLosses(p, l)
	if c.IR == nil {
		buildIR(p, c.Version, l)
	}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if c.method.lossy() && !c.Quantized && t.DType != tensor.Float32 {
			l.Fixed(schema.LossDType, t.Name, fmt.Errorf("%w: %v compresses float32, not %v",
				format.ErrUnsupported, c.method, t.TypeName()))
		}
		err := fits(t.Shape)
		if t.Size == 0 {
			err = fmt.Errorf("%w: shape %v has no elements, and size 0 means a placeholder",
				format.ErrUnsupported, t.Shape)
		}
		if err != nil {
			l.Fixed(schema.LossShape, t.Name, err)
		}
	}
	return nil
}

// fits refuses shapes that a descriptor cannot hold.
func fits(shape tensor.Shape) error {
	if len(shape) > maxRank {
		return fmt.Errorf("%w: rank %d, the most is %d", format.ErrUnsupported, len(shape), maxRank)
	}
	for _, n := range shape {
		if n < 0 || n > dynamicDim {
			return fmt.Errorf("%w: dim %d does not fit in 32 bits", format.ErrUnsupported, n)
		}
	}
	return nil
}

// metadataLosses lists entries that are not JSON or that readers would refuse, and an
// entry with the key of the tensor names but other contents.
func metadataLosses(p *schema.Schema, l *schema.LossList) {
	l.UniqueMetadata(p, func(_ int, e schema.Entry) error {
		switch {
		case e.Key != namesKey:
			_, err := jsonmeta.Marshal(schema.Metadata{e}, jsonOptions)
			return err
		case !namesTensors(e.Value, p.Tensors):
			return fmt.Errorf("%w: this key is reserved for the names of the tensors",
				format.ErrUnsupported)
		}
		return nil
	})
}

// namesTensors reports whether a value lists the names of the tensors in order, perhaps
// with names of placeholders between them, as in a file being copied.
func namesTensors(v any, tensors []tensor.Info) bool {
	next := 0
	err := eachName(v, func(name string) error {
		if next < len(tensors) && name == tensors[next].Name {
			next++
		}
		return nil
	})
	if err != nil {
		return false
	}
	return next == len(tensors)
}
