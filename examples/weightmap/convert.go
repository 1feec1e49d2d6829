package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// What -dtype and -quantize take.
var (
	floatTypes   = []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64}
	integerTypes = []tensor.DType{tensor.Int8, tensor.Int16, tensor.Uint8, tensor.Float16}
)

// compressions are what -compress takes; each format has some of them.
var compressions = []string{"gzip", "zstd", "lz4", "brotli"}

// convertFlags are the options of convert.
type convertFlags struct {
	*access
	to, out, dtype, quantize, compress  string
	sign, encrypt                       *cli.KeyOption
	lossy, perChannel, extended, verify bool
	align, external                     int64
	level                               int
	only, skip, rename                  list
}

// list is an option that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

func (o *convertFlags) define(c *cli.Tool, f *flag.FlagSet) {
	f.StringVar(&o.out, "o", "", "write to `OUT`, which then does not follow IN")
	f.StringVar(&o.to, "to", "", "the target's `FORMAT`: "+strings.Join(format.Writable(), ", "))
	f.BoolVar(&o.lossy, "lossy", false, "leave out what the target has no place for")
	f.StringVar(&o.dtype, "dtype", "", "convert real numbers, quantized ones too, to `D`: "+choices(floatTypes))
	f.StringVar(&o.quantize, "quantize", "", "quantize real numbers to `Q`, with one scale a tensor: "+choices(integerTypes))
	f.BoolVar(&o.perChannel, "per-channel", false, "quantize with a scale for each index of the first axis, where there are two or more")
	f.Var(&o.only, "only", "take only tensors with names like `GLOB`, in which * is any text and ? any character; may be repeated")
	f.Var(&o.skip, "skip", "leave out tensors with names like `GLOB`; may be repeated")
	f.Var(&o.rename, "rename", "rename tensors by `FROM=TO`, where each * of TO is the text of one of FROM; the first that fits applies")
	f.StringVar(&o.compress, "compress", "", "compress with `METHOD`, as the target has it: "+strings.Join(compressions, ", "))
	f.IntVar(&o.level, "level", 0, "compression level `N`, from 1 (fast) to 9 (small)")
	o.sign = c.KeyOption(f, "sign", "sign with the private key in `KEY.pem` (mle: Ed25519; wia: RSA, ECDSA)")
	o.encrypt = c.KeyOption(f, "encrypt", "encrypt with the key `HEX` of 64 digits, or in @FILE (mle, wia)")
	f.Int64Var(&o.align, "align", 0, "begin the data of tensors at multiples of `N` bytes")
	f.Int64Var(&o.external, "external-from", 0, "put tensors of at least `N` bytes into a file of their own (wia, onnx)")
	f.BoolVar(&o.extended, "extended", false, "allow dtypes that other readers of the format may not know (mag)")
	f.BoolVar(&o.verify, "verify", false, "read the target again and compare every tensor")
	o.access = trustFlags(c, f)
}

// options checks what was given.
func (o *convertFlags) options(ctx context.Context, c *cli.Tool) (*convert.Options, error) {
	if o.dtype != "" && o.quantize != "" {
		return nil, c.Usagef("-dtype and -quantize exclude each other")
	}
	if o.perChannel && o.quantize == "" {
		return nil, c.Usagef("-per-channel goes with -quantize")
	}
	if o.compress != "" && !slices.Contains(compressions, o.compress) {
		return nil, c.Usagef("-compress takes %s, not %q", strings.Join(compressions, ", "), o.compress)
	}
	d, err := namedDType(c, "dtype", o.dtype, floatTypes)
	if err != nil {
		return nil, err
	}
	q, err := namedDType(c, "quantize", o.quantize, integerTypes)
	if err != nil {
		return nil, err
	}
	out := &convert.Options{WriteOptions: format.WriteOptions{Context: ctx}, To: o.to, Lossy: o.lossy, Verify: o.verify, DType: d}
	if q != tensor.Invalid {
		out.Quantize = func(t tensor.Info) *tensor.QuantizeOptions {
			return &tensor.QuantizeOptions{DType: q, PerChannel: o.perChannel && len(t.Shape) > 1}
		}
	}
	if len(o.only)+len(o.skip) > 0 {
		out.Keep = convert.Matching(o.only, o.skip)
	}
	if len(o.rename) > 0 {
		if out.Rename, err = convert.Renames(o.rename...); err != nil {
			return nil, cli.BadArgument(err)
		}
	}
	if out.Read, err = o.access.options(ctx); err != nil {
		return nil, err
	}
	out.Storage = format.Storage{Compression: o.compress, Level: o.level, Align: o.align, Extended: o.extended, ExternalFrom: o.external}
	out.Storage.Key = out.Read.Key
	if !o.encrypt.Same(o.key) {
		if out.Storage.Key, err = o.encrypt.Secret(ctx); err != nil {
			return nil, err
		}
	}
	out.Storage.Signer, err = o.sign.Private(ctx)
	return out, err
}

// convertFile writes a model in another format.
func convertFile(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) (err error) {
	var given convertFlags
	f := c.Flags()
	given.define(c, f)
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	in, target, rest, err := c.InOut(f, given.out)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return c.Usagef("convert takes IN and OUT")
	}
	defer cli.NewTarget(target).Ended(&err)
	o, err := given.options(ctx, c)
	if err != nil {
		return err
	}
	if err := known(c, given.to, target); err != nil {
		return err
	}
	if s := o.Storage.Signer; s != nil {
		if err := checkSigner(given.target(target), s); err != nil {
			return cli.BadArgument(fmt.Errorf("-sign: %w", err))
		}
	}
	m, err := openModel(in, o.Read)
	if err != nil {
		return err
	}
	defer m.Close()
	if !m.Locked() { // that is said first
		if err := given.checkPatterns(in, named(m), o.Keep); err != nil {
			return err
		}
	}
	given.keepAll(m, target, o)
	progress := cli.NewProgress(errs, "converting")
	o.Progress = progress.Report
	report, err := convert.Model(m, target, o)
	progress.Finish()
	if errors.Is(err, format.ErrOption) {
		return cli.BadArgument(err) // the target's format does not have it
	}
	if err != nil {
		if m.Locked() {
			err = hint(err, o.Read.Key)
		}
		return given.refuse(c, err, func(l format.Loss) bool { return scales(m, o, l) }, errs)
	}
	for _, l := range report.Losses {
		c.Complain(fmt.Errorf("accepted: %s is lost: %s", l.Item(), l.Why), errs)
	}
	return converted(target, report, dropped(m, o.Storage), out)
}

// target is the name of the target's format.
func (o *convertFlags) target(path string) string {
	if c, ok := format.ByExtension(path); o.to == "" && ok {
		return c.Name()
	}
	return o.to
}

// keepAll has a WIA file that stays one keep what only the format has a place for: doc
// strings, properties, fields that are not known.
func (o *convertFlags) keepAll(m *format.Model, path string, c *convert.Options) {
	f, ok := wia.From(m)
	if !ok || o.target(path) != m.Format() || o.dtype+o.quantize != "" || len(o.only)+len(o.skip)+len(o.rename) > 0 {
		return
	}
	c.Create = func(path string, _ *format.Plan, w *format.WriteOptions) (format.Writer, error) {
		return wia.CreateRewrite(path, f, &wia.WriteOptions{WriteOptions: *w})
	}
}

// scales reports whether a loss is of the scales that -quantize found. Without them the
// integers would mean nothing, so that is never accepted.
func scales(m *format.Model, o *convert.Options, l format.Loss) bool {
	if o.Quantize == nil || l.Kind != format.LossQuantization {
		return false
	}
	for name, v := range m.Tensors() {
		if o.Rename != nil {
			name = o.Rename(name)
		}
		if name == l.Name {
			return v.Info().Quant == nil
		}
	}
	return false
}

// refuse lists what the target has no place for, a line each, and says which option
// helps.
func (o *convertFlags) refuse(c *cli.Tool, err error, needed func(format.Loss) bool, errs io.Writer) error {
	var refused *format.LossError
	if !errors.As(err, &refused) {
		return err
	}
	fixed, unscaled := false, false
	for _, l := range refused.Losses {
		unscaled = unscaled || needed(l)
		if l.Acceptable {
			c.Complain(fmt.Errorf("%s would be lost: %s", l.Item(), l.Why), errs)
		} else {
			fixed = true
			c.Complain(fmt.Errorf("%s cannot be written: %s", l.Item(), l.Why), errs)
		}
	}
	text := fmt.Sprintf("nothing is written: %s has no place for %s", refused.Format, cli.Count(len(refused.Losses), "thing"))
	switch {
	case unscaled:
		text += "; -quantize takes a target that keeps scales, such as wia or mobi; float16 needs none"
	case !fixed && !o.lossy:
		text += "; -lossy leaves that out"
	}
	c.Complain(errors.New(text), errs)
	return cli.ErrReported
}

// converted says what was written, and what protects it no more.
func converted(path string, r *convert.Report, dropped string, out io.Writer) error {
	line := fmt.Sprintf("%s: written (%s, %s", path, r.Format, cli.Size(cli.FileSize(path)))
	if len(r.Quantized) > 0 {
		worst := slices.MinFunc(r.Quantized, func(a, b convert.Stats) int { return cmp.Compare(a.SNR, b.SNR) })
		line += ", " + cli.Count(len(r.Quantized), "tensor") + " quantized"
		if !math.IsInf(worst.SNR, 1) {
			line += fmt.Sprintf(", the worst is %q: %.1f dB, off by at most %.3g", worst.Name, worst.SNR, worst.MaxAbs)
		}
	}
	if len(r.Kept) > 0 {
		line += ", " + cli.Count(len(r.Kept), "thing") + " kept aside for converting back: " + r.Kept[0].Item()
		if len(r.Kept) > 1 {
			line += " ..."
		}
	}
	_, err := fmt.Fprintln(out, cli.Printable(line+")"+dropped))
	return err
}

// known checks that the target's format is.
func known(c *cli.Tool, to, path string) error {
	if to != "" {
		if !slices.Contains(format.Formats(), to) {
			return c.Usagef("-to takes %s, not %q%s", strings.Join(format.Formats(), ", "), to, cli.DidYouMean(to, "", format.Formats()))
		}
		return nil
	}
	codec, ok := format.ByExtension(path)
	switch {
	case !ok:
		return c.Usagef("the ending of %q is that of no format: -to names one of %s", path, strings.Join(format.Writable(), ", "))
	case codec.Name() != "tsr" && os.IsPathSeparator(path[len(path)-1]):
		return c.Usagef("%s is a directory, and a model in %s is a file", path, codec.Name())
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
