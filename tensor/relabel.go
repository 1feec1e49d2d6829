package tensor

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
)

// WithInfo returns a view of the same bytes under another name, shape, type or quantization: the
// fields Name, DType, Shape, Quant and Encoding of info, which must describe as many bytes
// (ErrShape). It copies and reads nothing. Errors of the view name the tensor as its model does.
func (v View) WithInfo(info Info) (View, error) {
	r := v.ref()
	base := r.Info()
	if base == nil {
		return View{}, ErrClosed
	}
	size, err := info.ByteSize()
	if e := info.Encoding; e != nil && e.BlockBytes <= 0 {
		size = base.Size
		err = nil // nothing else tells
	}
	if err == nil && size != base.Size {
		err = fmt.Errorf("%w: %v %v takes %d bytes, not %d", ErrShape, info.TypeName(), info.Shape, size, base.Size)
	}
	if err != nil {
		return refuse(&info, v.explain(err))
	}
	named := *base
	named.Name = info.Name
	named.DType = info.DType
	named.Shape = info.Shape.Clone()
	named.Quant = info.Quant
	named.Encoding = info.Encoding
	o := relabeled{Owner: r.Owner(), info: base, data: memory.Hide(r.Data())}
	pages, isModel := r.Owner().(memory.Advisor)
	if isModel {
		return View(memory.New[Info](&named, &relabeledModel{o, pages}, r.Data())), nil
	}
	return View(memory.New[Info](&named, &o, r.Data())), nil
}

// relabeled shows a tensor of another owner, which finds it by its own description.
type relabeled struct {
	memory.Owner[Info]
	info *Info // as the owner describes the tensor
	data memory.Hidden
}

// relabeledModel is relabeled for the tensor of a model.
type relabeledModel struct {
	relabeled
	memory.Advisor
}

// base returns the description that the owner knows, of the tensor or of a slice, which moves the
// offset.
func (o *relabeled) base(info *Info) *Info {
	if info.Offset == o.info.Offset && info.Size == o.info.Size {
		return o.info
	}
	part := *o.info
	part.Offset = info.Offset
	part.Size = info.Size
	return &part
}

func (o *relabeled) Enter(info *Info) error            { return o.Owner.Enter(o.base(info)) }
func (o *relabeled) Expose(info *Info, b []byte) error { return o.Owner.Expose(o.base(info), b) }
func (o *relabeled) Explain(info *Info, err error) error {
	return o.Owner.Explain(o.base(info), err)
}

func (o *relabeled) File(info *Info) (pass.File, int64) { return o.Owner.File(o.base(info)) }

// Load copies memory that is not aligned for the new dtype. The owner would cache the copy as that
// of the whole tensor, which this may be a part of.
func (o *relabeled) Load(info *Info) ([]byte, error) {
	base := o.base(info)
	data := o.data.Bytes()
	if data == nil {
		return o.Owner.Load(base)
	}
	b := memory.Aligned(len(data))
	_, err := View(memory.New(base, o.Owner, data)).ReadInto(b)
	return b, err
}
