package convert

import (
	"context"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Options changes how a model is converted. Nil and the zero value convert bit for bit.
type Options struct {
	// WriteOptions has the context and the progress of writing. Losses in AcceptLoss are not reported.
	format.WriteOptions

	// To is the name of the target's format; "" means that of its file name extension.
	To string
	// Lossy leaves out what the target has no place for and a model does not need, and reports it as
	// Report.Losses. Numbers too large for their new dtype become infinite. A tensor whose dtype
	// the target lacks gets a dtype that holds its values (float16 becomes float32, int64 becomes int32 if all
	// values fit); a scalar gets the shape [1] where there are none. Without Lossy all of these are
	// refused. Losing the quantization parameters of tensors that Quantize chose is always refused.
	Lossy bool
	// Keep chooses the tensors to convert; nil means all. A graph that uses others is lost.
	Keep func(tensor.Info) bool
	// Rename returns the new name of a tensor, in the graph too; nil changes none.
	Rename func(name string) string
	// JoinScales makes one float32 tensor of each tensor that has its scales in another one, as
	// package tensor/quant finds them. DType and Quantize apply to the result. A model without such
	// tensors is ErrOption, one with a graph of nodes ErrUnsupported.
	JoinScales bool
	// DType is what all tensors of real numbers become: Float64, Float32, Float16
	// or BFloat16. These are floating-point tensors, quantized ones, and blocks that the
	// library can decode. The zero value, Invalid, changes none.
	DType tensor.DType
	// Quantize says how a tensor of real numbers is to be quantized, nil for one
	// that is not. It goes before DType. It is not called for tensors that are quantized
	// already, nor, without QuantizeOnly, for what would hurt more than it saves: tensors of
	// rank 0 and 1, constants of normalizations and biases, as the graph has them, and tensors
	// that it does not use by their names (running_mean, running_var, norm, bn, ln, bias).
	// With PerChannel, OutputAxis stands for the axis of a tensor's outputs. See Quantized.
	Quantize func(tensor.Info) *tensor.QuantizeOptions
	// QuantizeOnly, if not nil, chooses the tensors instead, of any rank and kind.
	QuantizeOnly func(tensor.Info) bool
	// Verify reads the target once it is in place and compares the XXH64 of every tensor
	// with what was written. A difference is ErrChecksum. Tensors whose
	// names the target replaced are found by what they hold.
	Verify bool
	// DryRun refuses what a conversion refuses before it writes tensors, and writes nothing.
	DryRun bool
	// Read has the options for opening the source, and the target for Verify: limits, keys, checks.
	Read *format.Options
}

// Quantized returns a function for Options.Quantize that treats all tensors alike.
func Quantized(o tensor.QuantizeOptions) func(tensor.Info) *tensor.QuantizeOptions {
	return func(tensor.Info) *tensor.QuantizeOptions { return &o }
}

// Report describes a conversion.
type Report struct {
	// Format is that of the target.
	Format string
	// Files are the paths that were written with MaxShard, the one that opens the model first.
	Files []string
	// Losses are what Options.Lossy left out.
	Losses []format.Loss
	// Kept are names, and parameters of quantization, that the target has no place for but
	// keeps aside: its readers see other names, and converting back restores these.
	Kept []format.Loss
	// Quantized lists the tensors that were quantized to integers or blocks, in the order of
	// the plan.
	Quantized []Stats
	// Stayed lists the tensors that were not quantized, and why.
	Stayed []Stayed
	// Warnings name the tensors of which more than 1 % of the numbers became 0.
	Warnings []string
}

// Stats compares a quantized tensor with the original.
type Stats struct {
	Name string
	tensor.QuantStats
}

// checked returns a copy that is complete. It works on nil.
func (o *Options) checked(path string) (*Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	switch c.DType {
	case tensor.Invalid, tensor.Float64, tensor.Float32, tensor.Float16, tensor.BFloat16:
	default:
		return nil, &format.Error{Field: "DType", Offset: -1, Err: fmt.Errorf("%w: %v is no floating-point type to convert to", format.ErrOption, c.DType)}
	}
	if c.Context == nil {
		c.Context = context.Background()
	}
	codec, err := format.For(c.To, path)
	if err != nil {
		return nil, err
	}
	c.To = codec.Name()
	return &c, c.Context.Err()
}

// reading returns the options to open a file of that format, "" for any.
func (o *Options) reading(name string) *format.Options {
	var r format.Options
	if o.Read != nil {
		r = *o.Read
	}
	if r.Context == nil {
		r.Context = o.Context
	}
	if name != "" {
		r.Format = name
	} else if r.Check == format.CheckDefault {
		r.Check = format.CheckTouch
	}
	return &r
}
