package save

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/tensor"
)

// mostBytes limits the size of all tensors, so that no offset in a file overflows.
const mostBytes = 1 << 61

// complete copies the plan, fills in all sizes and builds the index of names. It refuses bad or
// repeated names, unknown dtypes, overflowing shapes and losses that are not accepted. The driver may
// read the copy until Close.
func (w *Writer) complete(p *plan.Plan) (err error) {
	if p == nil {
		p = &plan.Plan{}
	}
	w.plan = &plan.Plan{Metadata: slices.Clone(p.Metadata), Tensors: make([]tensor.Info, len(p.Tensors)), Graph: p.Graph, Native: p.Native}
	take := w.driver.Describe().TakeValue
	if take == nil {
		take = plan.Number
	}
	for i := range w.plan.Metadata {
		w.plan.Metadata[i].Value = take(w.plan.Metadata[i].Value)
	}
	w.index.Grow(len(p.Tensors), 0, 0)
	total, entry := int64(0), driver.Tensor{}
	for i := range p.Tensors {
		t := &p.Tensors[i]
		size, err := t.ByteSize()
		if e := t.Encoding; e != nil && e.BlockBytes <= 0 && t.Size >= 0 {
			size, err = t.Size, nil // formats define the sizes of such types
		}
		if err == nil {
			err = tensor.CheckName(t.Name)
		}
		if err == nil {
			entry.Name, entry.Shape = append(entry.Name[:0], t.Name...), t.Shape
			err = w.index.Add(&entry)
		}
		if total += size; err == nil && uint64(total) > mostBytes {
			err = fmt.Errorf("%w: the tensors have more than 2^61 bytes", tensor.ErrLimit)
		}
		if err != nil {
			return w.planError(t.Name, err)
		}
		w.plan.Tensors[i] = tensor.Info{
			Name: t.Name, DType: t.DType, Shape: w.index.Shape(i), Offset: -1, Size: size, Stored: size,
			Quant: t.Quant.Clone(), Encoding: t.Encoding,
		}
	}
	w.progress.Expect(total)
	w.plan, err = driver.Fit(w.driver, w.plan, w.o, w.o.AcceptLoss)
	return err
}
