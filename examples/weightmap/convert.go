package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/tensor"
)

// What -dtype and -quantize take.
var (
	floatTypes   = []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64}
	integerTypes = []tensor.DType{tensor.Int8, tensor.Int16, tensor.Uint8, tensor.Float16}
)

// convertFile writes a model in another format.
func convertFile(c *cli.Tool, args []string, out, errs io.Writer) error {
	f := c.Flags()
	to := f.String("to", "", "the target's `FORMAT`: "+strings.Join(format.Formats(), ", "))
	lossy := f.Bool("lossy", false, "leave out what the target has no place for")
	dtype := f.String("dtype", "", "convert real numbers, quantized ones too, to `D`: "+choices(floatTypes))
	quantize := f.String("quantize", "", "quantize real numbers to `Q`, with one scale a tensor: "+choices(integerTypes))
	key := keyFlag(f)
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if f.NArg() != 2 {
		return c.Usagef("convert takes IN and OUT")
	}
	if *dtype != "" && *quantize != "" {
		return c.Usagef("-dtype and -quantize exclude each other")
	}
	d, err := namedDType(c, "dtype", *dtype, floatTypes)
	if err != nil {
		return err
	}
	q, err := namedDType(c, "quantize", *quantize, integerTypes)
	if err != nil {
		return err
	}
	if err := known(c, *to, f.Arg(1)); err != nil {
		return err
	}
	secret, err := cli.ParseKey(*key)
	if err != nil {
		return err
	}
	o := &convert.Options{To: *to, Lossy: *lossy, DType: d, Read: &format.Options{Key: secret}}
	if q != tensor.Invalid {
		o.Quantize = convert.Quantized(tensor.QuantizeOptions{DType: q})
	}
	report, err := convert.File(f.Arg(0), f.Arg(1), o)
	if err != nil {
		return refuse(c, hint(err, secret), *lossy, errs)
	}
	for _, l := range report.Losses {
		c.Complain(fmt.Errorf("accepted: %s is lost: %s", l.Item(), l.Why), errs)
	}
	return converted(f.Arg(1), report, out)
}

// refuse lists what the target has no place for, a line each.
func refuse(c *cli.Tool, err error, lossy bool, errs io.Writer) error {
	var refused *format.LossError
	if !errors.As(err, &refused) {
		return err
	}
	fixed := false
	for _, l := range refused.Losses {
		if l.Acceptable {
			c.Complain(fmt.Errorf("%s would be lost: %s", l.Item(), l.Why), errs)
		} else {
			fixed = true
			c.Complain(fmt.Errorf("%s cannot be written: %s", l.Item(), l.Why), errs)
		}
	}
	text := fmt.Sprintf("nothing is written: %s has no place for %s", refused.Format, cli.Count(len(refused.Losses), "thing"))
	if !fixed && !lossy {
		text += "; -lossy leaves that out"
	}
	c.Complain(errors.New(text), errs)
	return cli.ErrReported
}

// converted says what was written.
func converted(path string, r *convert.Report, out io.Writer) error {
	line := fmt.Sprintf("%s: written (%s, %s", path, r.Format, cli.Size(cli.FileSize(path)))
	if len(r.Quantized) > 0 {
		worst := slices.MinFunc(r.Quantized, func(a, b convert.Stats) int { return cmp.Compare(a.SNR, b.SNR) })
		line += ", " + cli.Count(len(r.Quantized), "tensor") + " quantized"
		if !math.IsInf(worst.SNR, 1) {
			line += fmt.Sprintf(", the worst is %q: %.1f dB, off by at most %.3g", worst.Name, worst.SNR, worst.MaxAbs)
		}
	}
	_, err := fmt.Fprintln(out, cli.Printable(line+")"))
	return err
}

// known checks that the target's format is.
func known(c *cli.Tool, to, path string) error {
	if to != "" {
		_, err := format.Lookup(to)
		if err != nil {
			return cli.BadArgument(err)
		}
		return nil
	}
	if _, ok := format.ByExtension(path); !ok {
		return c.Usagef("the ending of %q is that of no format: -to names one of %s", path, strings.Join(format.Formats(), ", "))
	}
	return nil
}

// namedDType returns the dtype of that name, Invalid for none.
func namedDType(c *cli.Tool, option, name string, from []tensor.DType) (tensor.DType, error) {
	if name == "" {
		return tensor.Invalid, nil
	}
	d, _ := tensor.ParseDType(name)
	if !slices.Contains(from, d) {
		return d, c.Usagef("-%s takes %s, not %q", option, choices(from), name)
	}
	return d, nil
}

func choices(types []tensor.DType) string {
	var names []string
	for _, d := range types {
		names = append(names, d.String())
	}
	return strings.Join(names, ", ")
}
