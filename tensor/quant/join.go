package quant

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/tensor"
)

// Join returns a float32 view of weight times scale, in one of the layouts of this package. It
// decodes lazily: tensor.DecodeAt and View.ReadAt decode only the elements that they return, in
// memory that does not depend on the size of the tensor; tensor.Decode, View.Bytes and View.Use
// decode the whole tensor. The view is valid as long as both tensors are.
//
// Info().Offset of the view is not a position in the file.
//
// Errors: ErrDType for types without such scales, ErrShape when the scales do not fit the weight,
// ErrQuantization when one of the tensors has quantization parameters, ErrClosed.
func Join(weight, scale tensor.View) (tensor.View, error) {
	w := (*memory.Ref[tensor.Info])(&weight)
	s := (*memory.Ref[tensor.Info])(&scale)
	if w.Info() == nil || s.Info() == nil {
		return tensor.View{}, tensor.ErrClosed
	}
	j := &joined{Owner: w.Owner(), name: w.Info(), scale: scale}
	var err error
	if j.layout, err = layoutOf(w.Info(), s.Info()); err != nil {
		return tensor.View{}, j.Explain(nil, fmt.Errorf("with scales in %q: %w", s.Info().Name, err))
	}
	if err := j.Enter(nil); err != nil {
		return tensor.View{}, err
	}
	j.Leave()
	j.weight = tensor.View(memory.New(j.layout.weight, w.Owner(), w.Data()))
	j.scale = tensor.View(memory.New(j.layout.scales, s.Owner(), s.Data()))
	info := &tensor.Info{Name: w.Info().Name, DType: tensor.Float32, Shape: j.shape.Clone(), Stored: -1}
	// layoutOf has checked the size.
	info.Size, _ = info.ByteSize()
	if w.Info().Offset < 0 {
		info.Offset = -1
	}
	j.base = info.Offset
	return tensor.View(memory.New[tensor.Info](info, j, nil)), nil
}

// joined is the owner of a view of two tensors. It embeds the weight's owner for the remaining
// methods.
type joined struct {
	memory.Owner[tensor.Info]
	*layout
	// name is the weight's description in its file.
	name          *tensor.Info
	weight, scale tensor.View
	// base is the Offset of the unsliced view.
	base int64
}

func (j *joined) scaleRef() *memory.Ref[tensor.Info] { return (*memory.Ref[tensor.Info])(&j.scale) }

// Enter implements memory.Owner, for both tensors.
func (j *joined) Enter(*tensor.Info) error {
	if err := j.Owner.Enter(j.name); err != nil {
		return j.Explain(nil, err)
	}
	s := j.scaleRef()
	if err := s.Owner().Enter(s.Info()); err != nil {
		j.Owner.Leave()
		return s.Owner().Explain(s.Info(), err)
	}
	return nil
}

// Leave implements memory.Owner.
func (j *joined) Leave() {
	j.scaleRef().Owner().Leave()
	j.Owner.Leave()
}

// Load implements memory.Owner.
func (j *joined) Load(info *tensor.Info) ([]byte, error) {
	v, _ := tensor.View(memory.New[tensor.Info](info, j, nil)).Clone()
	// If Clone fails, Bytes returns its error.
	return v.Bytes()
}

// File implements memory.Owner: the float32 numbers are read.
func (j *joined) File(info *tensor.Info) (pass.File, int64) { return numbers{j}, info.Offset - j.base }

// Explain implements memory.Owner: errors name the weight.
func (j *joined) Explain(_ *tensor.Info, err error) error { return j.Owner.Explain(j.name, err) }

// pieceElems is the number of elements decoded at a time.
const pieceElems = 1 << 18

// scratch holds the elements and scales of a piece.
type scratch struct{ values, scales []float32 }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// numbers is the file of the float32 numbers of a view of two tensors. It is decoded where it is
// read.
type numbers struct{ *joined }

// Memory implements pass.File.
func (numbers) Memory() []byte { return nil }

// Mapping implements pass.File.
func (numbers) Mapping() pass.Mapping { return nil }

// Kind implements pass.File.
func (numbers) Kind() pass.Kind { return pass.Kind{} }

// ReadAtContext implements pass.File.
func (j numbers) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	const size = 4
	done := 0
	mem := scratches.Get().(*scratch)
	defer scratches.Put(mem)
	for len(p) > 0 {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		first := off / size
		skip := int(off % size)
		values, err := j.piece(mem, first, (int64(skip)+int64(len(p))+size-1)/size)
		if err != nil {
			return done, err
		}
		b := memory.BytesOf(values)
		if !memory.LittleEndian {
			vector.Swap(b, 4)
		}
		n := copy(p, b[skip:])
		done += n
		p = p[n:]
		off += int64(n)
	}
	return done, nil
}

// piece decodes up to n elements from first on: a part of one row, or several whole rows.
func (j *joined) piece(mem *scratch, first, n int64) ([]float32, error) {
	row := first / j.cols
	col := first % j.cols
	n = min(n, pieceElems)
	if col+n > j.cols && j.cols > pieceElems {
		n = j.cols - col
	}
	last := first + n - 1
	from := j.scaleRow(row)
	to := j.scaleRow(last/j.cols) + j.sCols
	if row == last/j.cols {
		from, to = from+col/j.width, from+last%j.cols/j.width+1
	}
	mem.values = slices.Grow(mem.values[:0], int(n))[:n]
	mem.scales = slices.Grow(mem.scales[:0], int(to-from))[:to-from]
	if err := tensor.DecodeAt(mem.values, j.weight, first); err != nil {
		return nil, err
	}
	if err := tensor.DecodeAt(mem.scales, j.scale, from); err != nil {
		return nil, err
	}
	for values := mem.values; len(values) > 0; row, col = row+1, 0 {
		at := j.scaleRow(row) - from
		for len(values) > 0 && col < j.cols {
			n := min(j.width-col%j.width, j.cols-col, int64(len(values)))
			s := mem.scales[at+col/j.width]
			for i := range values[:n] {
				values[i] *= s
			}
			values = values[n:]
			col = col + n
		}
	}
	return mem.values, nil
}
