package convert

import (
	"context"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// Options changes how a model is converted. Nil and the zero value convert bit for bit.
type Options struct {
	// Read has the options to open the source and, for Verify, the target: limits, keys, checks.
	Read *format.Options
	// Write has the options of the target: its format, compression and so on. The context of the
	// conversion takes the place of those in Read and Write. Losses in AcceptLoss are not reported.
	Write *format.WriteOptions
	// Lossy leaves out what the target cannot represent and the model does not need, and reports it
	// in Report.Losses. Numbers too large for their new dtype become infinite. A tensor whose dtype
	// the target lacks gets a dtype that holds its values (float16 becomes float32; int64 becomes
	// int32 if all values fit); a bool is no number, and is refused: Keep leaves it out. A scalar
	// gets the shape [1] if the target has no scalars. Without Lossy all of these are refused.
	// Losing the quantization parameters of tensors that Quantize chose is always refused, since
	// the integers mean nothing without them. A source that is a part of a model (Model.Part) is
	// refused unless AcceptLoss has "part".
	Lossy bool
	// Keep chooses the tensors to convert; nil means all. A graph that uses other tensors is lost.
	Keep func(tensor.Info) bool
	// Rename returns the new name of a tensor, which also applies to the graph; nil renames none.
	// One name for two tensors is ErrOption and ErrSchema.
	Rename func(name string) string
	// JoinScales combines each tensor and the tensor with its scales, as package tensor/quant finds
	// them, into one float32 tensor. DType and Quantize apply to the result. It returns ErrOption
	// for a model without such tensors, and ErrUnsupported for one with a graph of nodes.
	JoinScales bool
	// DType is the new dtype of all tensors of real numbers: Float64, Float32, Float16 or BFloat16.
	// These are floating-point tensors, quantized tensors, and blocks that the library can decode.
	// The zero value, Invalid, changes none.
	DType tensor.DType
	// Quantize returns the options to quantize a tensor of real numbers, or nil to leave it. It
	// takes precedence over DType. It is not called for quantized tensors. Without QuantizeOnly it
	// is not called either for tensors where quantization saves little and hurts accuracy: rank 0
	// and 1, and biases and constants of normalizations, identified by the graph or, for tensors
	// that the graph does not use, by name (running_mean, running_var, norm, bn, ln, bias). With
	// PerChannel, OutputAxis stands for the axis of a tensor's outputs. See Quantized.
	Quantize func(tensor.Info) *tensor.QuantizeOptions
	// QuantizeOnly, if not nil, chooses the tensors instead, of any rank and role. Quantize still
	// says how: without it, QuantizeOnly is ErrOption.
	QuantizeOnly func(tensor.Info) bool
	// Verify reads the target after it is in place and compares the XXH64 of every tensor with the
	// written data. A difference is ErrChecksum. Tensors whose names the target replaced are
	// matched by content. Write.Progress starts again for that. The old file is gone by then: to
	// keep it until the new one is verified, convert to another name, with Write.Format set, and
	// rename that.
	Verify bool
	// DryRun checks everything that can be checked before tensors are written, and writes nothing.
	// To show what would be lost, set Lossy too and print Report.Losses: a LossError without Lossy
	// also lists dtypes that Lossy converts. Report.Quantized stays empty, as quality is measured
	// while tensors are written.
	DryRun bool
}

// Quantized returns a function for Options.Quantize that treats all tensors alike.
func Quantized(o tensor.QuantizeOptions) func(tensor.Info) *tensor.QuantizeOptions {
	return func(tensor.Info) *tensor.QuantizeOptions { return &o }
}

// Report describes a conversion.
type Report struct {
	// Format is the name of the target's format.
	Format string
	// Files are the paths written with MaxShard, the one that opens the model first.
	Files []string
	// Losses are the losses that Options.Lossy accepted.
	Losses []schema.Loss
	// Kept are names and quantization parameters that the target has no field for but stores
	// elsewhere: its readers see other names, and converting back restores the originals.
	Kept []schema.Loss
	// Quantized lists the tensors that were quantized to integers or blocks, in the order of the
	// target.
	Quantized []Stats
	// Stayed lists the tensors that were not quantized, and why.
	Stayed []Stayed
	// Packed are the packed weights of a quantized checkpoint that were copied as they are, since
	// JoinScales was not set or does not decode them. A target whose programs would take them for
	// numbers (gguf, and formats with operators) refuses them.
	Packed []quant.Packed
	// Warnings has a line about the tensors that lost more than usual: a row became wholly 0, more
	// than 10 % of the numbers did, or the signal-to-noise ratio is below 20 dB.
	Warnings []string
}

// Stats compares a quantized tensor with the original.
type Stats struct {
	Name string // of the tensor
	tensor.QuantStats
}

// newJob returns a job to write to path, or "" for an io.Writer. It checks the options, which may
// be nil.
func newJob(ctx context.Context, path string, o *Options) (*job, error) {
	j := &job{ctx: ctx, path: path, report: &Report{}}
	if ctx == nil {
		j.ctx = context.Background()
	}
	if o != nil {
		j.o = *o
	}
	takes := []tensor.DType{tensor.Invalid, tensor.Float64, tensor.Float32, tensor.Float16,
		tensor.BFloat16}
	if !slices.Contains(takes, j.o.DType) {
		err := fmt.Errorf("%w: %v is no floating-point type to convert to", format.ErrOption, j.o.DType)
		return nil, &tensor.Error{Field: "DType", Offset: -1, Err: err}
	}
	if j.o.QuantizeOnly != nil && j.o.Quantize == nil {
		err := fmt.Errorf("%w: Quantize does not say how", format.ErrOption)
		return nil, &tensor.Error{Field: "QuantizeOnly", Offset: -1, Err: err}
	}
	if j.o.Write != nil {
		j.target = *j.o.Write
	}
	j.target.Context = j.ctx
	if j.target.Format == nil {
		f, err := format.ByExtension(path)
		if err != nil {
			return nil, err
		}
		j.target.Format = f
	}
	j.driver = j.target.Format.Driver()
	if j.driver == nil {
		return nil, &tensor.Error{Field: "Write.Format", Offset: -1,
			Err: fmt.Errorf("%w: it has no driver", format.ErrOption)}
	}
	j.format = j.driver.Describe().Name
	j.report.Format = j.format
	return j, j.ctx.Err()
}

// reading returns the options to open the source.
func (j *job) reading() *format.Options {
	r := format.Options{}
	if j.o.Read != nil {
		r = *j.o.Read
	}
	r.Context = j.ctx
	if r.Check == format.CheckDefault {
		r.Check = format.CheckTouch
	}
	return &r
}

// rereading returns the options to open the target.
func (j *job) rereading() *format.Options {
	r := format.Options{}
	if j.o.Read != nil {
		r = *j.o.Read
	}
	r.Context = j.ctx
	r.Format = j.target.Format
	r.Trusted = nil // applies to the source
	if j.target.Key != nil {
		r.Key = j.target.Key
	}
	return &r
}
