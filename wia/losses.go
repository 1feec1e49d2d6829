package wia

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/tensor"
)

// Losses implements driver.Writer.
func (d fileFormat) Losses(p *schema.Schema, o *driver.LayoutOptions, l *schema.LossList) error {
	_, err := d.settings(o)
	if err != nil {
		return err
	}
	from := originalOf(p, l)
	l.Docs(holdsDoc)
	l.DTypes(p, "WIA", dtypes[1:])
	for i := range p.Tensors {
		t := &p.Tensors[i]
		_, err := quantField(t)
		if err != nil && !from.tensors[t.Name].quantizes(t) {
			l.Quantization(p, i, err)
		}
	}
	if from.metadata == nil {
		l.UniqueMetadata(p, func(i int, e schema.Entry) error {
			_, err := jsonmeta.Marshal(schema.Metadata{e}, jsonmeta.Options{})
			if err != nil {
				return err
			}
			x, isFloat := e.Value.(float64)
			if isFloat && (math.IsNaN(x) || math.IsInf(x, 0)) {
				l.ConvertedMetadata(p, i, fmt.Sprintf("JSON has no %v; it becomes a string", x))
			}
			return nil
		})
	}
	if p.Graph != nil && from.graph == nil {
		dialect.Losses(p, from.inner, l)
	}
	return nil
}

// checkTensor returns an error if a tensor cannot be the value of an attribute.
func checkTensor(info *tensor.Info) error {
	if codeOf(info.DType) == 0 {
		return fmt.Errorf("%w: the format has no %s", format.ErrUnsupported, info.TypeName())
	}
	_, err := quantField(info)
	return err
}
