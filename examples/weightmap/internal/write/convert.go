// Package write has the commands that write models: convert, split, merge and set, and the search
// for a command line that works when one does not.
package write

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// The values of -dtype.
var (
	FloatTypes = []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Float64}
)

// Compressions are the values of -compress. Each format supports some of them.
var Compressions = []string{"gzip", "zstd", "lz4", "brotli"}

// convertFlags holds the options of convert.
type convertFlags struct {
	*modelfile.Access
	to, out, dtype, quantize, compress  string
	sign, encrypt                       *cli.KeyOption
	lossy, perChannel, extended, verify bool
	join, keep, dryRun                  bool
	align, external                     int64
	level                               int
	only, skip, rename                  modelfile.List
	quantizeOnly, quantizeExcept        modelfile.List
	maxShard                            cli.ByteSize
	usualShard                          cli.ByteSize // -max-shard by default
	whole                               bool         // one file: there is no -max-shard

	path    string // path of the output
	given   string // the value of -to as it was typed
	stdout  io.Writer
	secrets *secrets
	refused error // the error already listed
}

func (o *convertFlags) define(c *cli.Tool, f *flag.FlagSet) {
	f.StringVar(&o.out, "o", "", "write to `OUT` instead of the last argument")
	f.StringVar(&o.to, "to", "", "`FORMAT` of OUT: "+strings.Join(format.Writable(), ", "))
	f.BoolVar(&o.keep, "n", false, "do not replace an existing OUT")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be written, and write nothing")
	f.BoolVar(&o.lossy, "lossy", false, "leave out what the target cannot store")
	f.BoolVar(&o.join, "join", false, "combine weights with the scales in other tensors, to float32 or to -dtype or -quantize")
	f.StringVar(&o.dtype, "dtype", "", "convert floating-point and quantized tensors to `D`: "+Choices(FloatTypes))
	f.StringVar(&o.quantize, "quantize", "",
		"quantize floating-point tensors to `Q` except vectors, biases and normalization constants; see above")
	f.Var(&o.quantizeOnly, "quantize-only", "quantize only tensors whose names match `GLOB`, including vectors and biases; may be repeated")
	f.Var(&o.quantizeExcept, "quantize-except",
		"do not quantize tensors whose names match `GLOB`; may be repeated")
	f.BoolVar(&o.perChannel, "per-channel", true,
		"one scale for each output channel; -per-channel=false for one scale for each tensor")
	f.Var(&o.only, "only", "convert only tensors whose names match `GLOB` (* is any text, ? any character); may be repeated")
	f.Var(&o.skip, "skip", "leave out tensors whose names match `GLOB`; may be repeated")
	f.Var(&o.rename, "rename", "rename tensors by `FROM=TO`; each * in TO stands for the text that a * in FROM matched; the first match applies")
	f.StringVar(&o.compress, "compress", "",
		"compress with `METHOD`: "+strings.Join(Compressions, ", "))
	f.IntVar(&o.level, "level", 0, "compression level `N`, from 1 (fast) to 9 (small)")
	o.sign = c.KeyOption(f, "sign", "sign with the private key in `KEY.pem` (mle: Ed25519; wia: RSA, ECDSA)")
	o.encrypt = c.KeyOption(f, "encrypt", "encrypt with the key `HEX` of 64 digits, or in @FILE (mle, wia)")
	f.Int64Var(&o.align, "align", 0, "align the data of tensors to `N` bytes")
	f.Int64Var(&o.external, "external-from", 0,
		"store tensors of at least `N` bytes in a separate file (wia, onnx)")
	o.maxShard = o.usualShard
	if !o.whole {
		f.Var(&o.maxShard, "max-shard", "write several files with tensors of at most `SIZE` each, such as 5GB (safetensors, gguf)")
	}
	f.BoolVar(&o.extended, "extended", false, "allow dtypes that other MAG readers may not know")
	f.BoolVar(&o.verify, "verify", false, "read OUT again and compare every tensor")
	o.Access = modelfile.TrustFlags(c, f)
	o.Access.PartFlag(f)
}

// checkNames validates names of types and methods, and replaces them by the usual ones.
func (o *convertFlags) checkNames(c *cli.Tool) error {
	method, err := compressionNamed(c, o.compress)
	if err != nil {
		return err
	}
	o.compress = method
	if o.quantize != "" {
		kind := kindNamed(o.quantize)
		if kind == "" {
			return c.Usagef("-quantize takes %s, not %q", strings.Join(Kinds, ", "), o.quantize)
		}
		o.quantize = kind
	}
	o.given = o.to
	o.to = formatNamed(o.to)
	return nil
}

// options validates the options.
func (o *convertFlags) options(ctx context.Context, c *cli.Tool) (*convert.Options, error) {
	if o.dtype != "" && o.quantize != "" {
		return nil, c.Usagef("-dtype and -quantize exclude each other")
	}
	if o.quantize == "" && (!o.perChannel || len(o.quantizeOnly)+len(o.quantizeExcept) > 0) {
		return nil, c.Usagef("-per-channel, -quantize-only and -quantize-except need -quantize")
	}
	d, err := namedDType(c, "dtype", o.dtype, FloatTypes)
	if err != nil {
		return nil, err
	}
	to := &format.WriteOptions{
		MaxShard:     int64(o.maxShard),
		Compression:  o.compress,
		Level:        o.level,
		Align:        o.align,
		Extended:     o.extended,
		ExternalFrom: o.external,
	}
	if o.to != "" {
		to.Format, _ = format.ByName(o.to) // checkTarget refuses an unknown one
	}
	if o.Access.Part {
		to.AcceptLoss = []string{string(schema.LossPart)}
	}
	out := &convert.Options{Write: to, Lossy: o.lossy, Verify: o.verify, DType: d, JoinScales: o.join,
		DryRun: o.dryRun}
	o.chooseQuantized(out)
	if len(o.only)+len(o.skip) > 0 {
		out.Keep = modelfile.Matching(o.only, o.skip)
	}
	if len(o.rename) > 0 {
		out.Rename, err = modelfile.Renaming(o.rename...)
		if err != nil {
			return nil, cli.BadArgument(err)
		}
	}
	if o.secrets == nil {
		o.secrets, err = o.readSecrets(ctx)
		if err != nil {
			return nil, err
		}
	}
	read := *o.secrets.read
	out.Read = &read
	if o.encrypt.Given() {
		to.Key = o.secrets.key
	}
	if o.sign.Given() {
		to.Signer = o.secrets.signer
	}
	return out, nil
}

// secrets holds keys, which can be read only once if they come through a pipe.
type secrets struct {
	read   *format.Options
	key    []byte
	signer crypto.Signer
}

func (o *convertFlags) readSecrets(ctx context.Context) (s *secrets, err error) {
	s = &secrets{}
	s.read, err = o.Access.Options(ctx)
	if err != nil {
		return nil, err
	}
	s.key = s.read.Key
	if !o.encrypt.Same(o.Key) {
		s.key, err = o.encrypt.Secret(ctx)
		if err != nil {
			return nil, err
		}
	}
	s.signer, err = o.sign.Private(ctx)
	return s, err
}

// Convert is the command convert.
var Convert = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap convert", Args: "[-to FORMAT] [-lossy] [-dtype D | -quantize Q] [more options] IN OUT",
	About: "Write a model in another format.",
	Details: "The format of OUT is that of its file name extension or of -to. As TSR, several tensors become a\n" +
		"directory of files. Tensors are copied bit for bit. If the format cannot store everything, convert\n" +
		"lists what would be lost and writes nothing; with -lossy it drops and lists it.\n" +
		"OUT may be IN; IN may be - for standard input; OUT may be - for standard output, with -to.\n" +
		"MOBI numbers its tensors; convert stores their names in the file, and converting back restores them.\n" +
		"A GLOB or FROM that matches nothing is an error.\n",
	More: kindHelp,
	Example: "weightmap convert -quantize int8 model.safetensors model.wia\n" +
		"  weightmap convert -quantize int8 -lossy model.safetensors model.mobi\n" +
		"  weightmap convert -dtype float32 model.mobi back.safetensors\n" +
		"  weightmap convert -only 'encoder.*' -rename 'encoder.*=*' -verify model.gguf encoder.npz\n" +
		"  weightmap convert -compress zstd -sign key.pem model.safetensors model.mle",
}, Run: convertModel}

// convertModel converts a model to another format.
func convertModel(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) error {
	return convertWith(ctx, c, &convertFlags{}, args, out, errs)
}

// convertWith is convert with other defaults.
func convertWith(ctx context.Context, c *cli.Tool, given *convertFlags, args []string,
	out, errs io.Writer) (err error) {
	f := c.Flags()
	given.define(c, f)
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	err = given.checkNames(c)
	if err != nil {
		return err
	}
	in, target, err := given.inOut(c, f, args)
	if err != nil {
		return err
	}
	line := modelfile.Split(f, args)
	if target == modelfile.StandardOutput {
		if err := given.checkStandardOutput(c, out); err != nil {
			return err
		}
		given.stdout = out
		out = errs
	} else {
		defer cli.NewTarget(target).Ended(&err)
	}
	if err := given.checkKept(target); err != nil {
		return cli.Advised(err, modelfile.TryLine(strings.TrimPrefix(c.Name, "weightmap "),
			line.To(beside(target))))
	}
	// Report errors in the target before opening the source, but advice needs an open source.
	reading, err := given.options(ctx, c)
	if err != nil {
		return err
	}
	wrong := given.checkTarget(c, target)
	source, err := given.Access.Open(in, reading.Read)
	switch {
	case wrong != nil && err != nil:
		return wrong
	case err != nil:
		return given.advise(ctx, c, line, nil, err)
	}
	defer source.Close()
	m := source.Model
	if err := given.Access.RefusePart(source); err != nil {
		return given.advise(ctx, c, line, m, err)
	}
	if wrong != nil {
		return given.advise(ctx, c, line, m, wrong)
	}
	if given.whole && source.Part != "" && source.CheckTarget(target, reading.Read) == nil {
		line.Files[0] = source.Path
		return cli.Advised(fmt.Errorf("%s is only part %d of %d", modelfile.ShownName(in),
			source.Is.Index, source.Is.Count), modelfile.TryLine("merge", line))
	}
	source.Complain(c, errs)
	progress := cli.NewProgress(errs, "converting")
	var o *convert.Options
	report, err := given.convert(ctx, c, m, in, target, func(made *convert.Options) {
		o = made
		o.Write.Progress = progress.Report
	})
	progress.Finish()
	if err != nil {
		return given.advise(ctx, c, line, m, given.refuse(c, err, errs))
	}
	complain(c, report, errs)
	if given.dryRun {
		return planned(target, report, m.Len(), out)
	}
	if target == modelfile.StandardOutput {
		_, err := fmt.Fprintf(out, "standard output: written (%s)%s\n", report.Format,
			dropped(m, o.Write))
		return err
	}
	return converted(target, report, dropped(m, o.Write), out)
}

// complain prints what a conversion lost, changed or left as it was.
func complain(c *cli.Tool, r *convert.Report, errs io.Writer) {
	for _, l := range r.Losses {
		verb := "lost"
		if l.Kind == schema.LossConversion {
			verb = "changed"
		}
		c.Complain(fmt.Errorf("%s %s: %s", verb, l.Part(), l.Why), errs)
	}
	for _, p := range r.Packed {
		c.Complain(errors.New(packedAsIs(p)), errs)
	}
	for _, w := range r.Warnings {
		c.Complain(fmt.Errorf("warning: %s", w), errs)
	}
	for _, s := range r.Stayed {
		if strings.Contains(s.Why, "rows of a multiple") {
			c.Complain(fmt.Errorf("tensor %q is not quantized: %s", s.Name, s.Why), errs)
		}
	}
}

// checkStandardOutput returns an error if the options do not go with OUT -.
func (o *convertFlags) checkStandardOutput(c *cli.Tool, out io.Writer) error {
	switch {
	case o.to == "":
		return c.Usagef("writing to standard output needs -to FORMAT: %s",
			strings.Join(format.Writable(), ", "))
	case o.verify:
		return c.Usagef("-verify cannot read standard output again")
	case o.maxShard > 0:
		return c.Usagef("shards cannot go to standard output: name a file")
	}
	return cli.CheckBinary(modelfile.StandardOutput, out, "a model")
}

// checkKept returns an error if OUT exists and is not to be replaced.
func (o *convertFlags) checkKept(target string) error {
	if !o.keep || target == modelfile.StandardOutput {
		return nil
	}
	for _, path := range []string{target, target + ".index.json"} {
		if modelfile.Exists(path) {
			return fmt.Errorf("%s exists, and -n is set", path)
		}
	}
	return nil
}

// planned says what a conversion would write.
func planned(path string, r *convert.Report, tensors int, out io.Writer) error {
	name := path
	replaced := ""
	switch {
	case path == modelfile.StandardOutput:
		name = "standard output"
	case modelfile.Exists(path):
		replaced = ", replacing the existing one"
	}
	line := fmt.Sprintf("%s: would be written (%s, %s)%s", name, r.Format,
		cli.Count(tensors, "tensor"), replaced)
	_, err := fmt.Fprintln(out, cli.Printable(line))
	return err
}

// packedAsIs describes packed weights that were copied as they are.
func packedAsIs(p quant.Packed) string {
	text := fmt.Sprintf("copied %d packed %s weights unchanged", len(p.Weights), p.Scheme)
	if len(p.Weights) == 1 {
		text = fmt.Sprintf("copied 1 packed %s weight unchanged", p.Scheme)
	}
	if p.Joins {
		text += "; -join decodes packed weights"
	}
	return text
}

// checkTarget returns an error for an unsuitable file name, or options that the format does not
// have.
func (o *convertFlags) checkTarget(c *cli.Tool, target string) error {
	o.path = target
	if err := known(c, o.to, target); err != nil {
		return err
	}
	dir := filepath.Dir(filepath.Clean(target))
	if target != modelfile.StandardOutput && !modelfile.Exists(dir) {
		return fmt.Errorf("%s: no such directory", dir)
	}
	if o.secrets != nil && o.sign.Given() {
		err := CheckSigner(o.target(target), o.secrets.signer)
		if err != nil {
			return cli.BadArgument(fmt.Errorf("-sign: %w", err))
		}
	}
	return nil
}

// convert writes an open model. change may modify the library's options.
func (o *convertFlags) convert(ctx context.Context, c *cli.Tool, m *format.Model, in, target string,
	change func(*convert.Options)) (*convert.Report, error) {
	if err := o.checkTarget(c, target); err != nil {
		return nil, err
	}
	opts, err := o.options(ctx, c)
	if err != nil {
		return nil, err
	}
	if m.NeedsKey() {
		return nil, modelfile.Hint(fmt.Errorf("%s: %w: the model is encrypted", in, format.ErrKey),
			opts.Read.Key)
	}
	if _, count := m.Part(); count > 0 && !o.Access.Part {
		return nil, modelfile.PartError(fmt.Sprintf("%s is only a part of a model", in)) // while searching for advice
	}
	if err := o.checkPatterns(in, modelfile.Named(m), opts.Keep); err != nil {
		return nil, err
	}
	if err := o.checkKind(m, target, opts); err != nil {
		return nil, err
	}
	change(opts)
	var report *convert.Report
	if target == modelfile.StandardOutput {
		report, err = convert.Write(ctx, m, o.stdout, opts)
	} else {
		report, err = convert.Model(ctx, m, target, opts)
	}
	if errors.Is(err, format.ErrOption) {
		err = cli.BadArgument(err) // the target's format does not support it
	}
	return report, err
}

// target returns the name of the target's format.
func (o *convertFlags) target(path string) string {
	if o.to == "" {
		return modelfile.FormatOf(path)
	}
	return o.to
}

// refuse prints what would be lost, a line each.
func (o *convertFlags) refuse(c *cli.Tool, err error, errs io.Writer) error {
	var refused *schema.LossError
	if !errors.As(err, &refused) {
		return err
	}
	for _, l := range refused.Losses {
		if l.Acceptable {
			c.Complain(fmt.Errorf("%s would be lost: %s", l.Part(), l.Why), errs)
		} else {
			c.Complain(fmt.Errorf("%s cannot be stored: %s", l.Part(), l.Why), errs)
		}
	}
	c.Complain(fmt.Errorf("nothing written: %s cannot store %s", refused.Format,
		cli.Count(len(refused.Losses), "item")), errs)
	o.refused = err
	return cli.ErrReported
}

// converted describes the written file and the protection it lost.
func converted(path string, r *convert.Report, dropped string, out io.Writer) error {
	files := r.Files
	if len(files) == 0 {
		files = []string{path}
	}
	size := int64(0)
	for _, file := range files {
		size += cli.FileSize(file)
	}
	line := fmt.Sprintf("%s: written (%s, %s", files[0], r.Format, cli.Size(size))
	if len(files) > 1 {
		line += ", " + cli.Count(len(files), "file")
	}
	if len(r.Quantized) > 0 {
		worst := slices.MinFunc(r.Quantized, func(a, b convert.Stats) int {
			return cmp.Compare(a.SNR, b.SNR)
		})
		line += ", " + cli.Count(len(r.Quantized), "tensor") + " quantized"
		if !math.IsInf(worst.SNR, 1) {
			line += fmt.Sprintf(", worst %q (SNR %.1f dB, max error %.3g)", worst.Name, worst.SNR,
				worst.MaxAbs)
		}
	}
	if len(r.Stayed) > 0 {
		line += ", " + cli.Count(len(r.Stayed), "tensor") + " unchanged"
	}
	if len(r.Kept) > 0 {
		line += ", " + keptItems(r.Kept) + " stored for converting back"
	}
	_, err := fmt.Fprintln(out, cli.Printable(line+")"+dropped))
	return err
}

// keptItems counts what the target stores in another place: "2 names".
func keptItems(kept []schema.Loss) string {
	kind := string(kept[0].Kind)
	for _, l := range kept {
		if string(l.Kind) != kind {
			kind = "item"
		}
	}
	if kind == string(schema.LossQuantization) {
		kind = "quantization parameter"
	}
	return cli.Count(len(kept), kind)
}

// endingError is returned for an unsuitable file name.
type endingError string

func (e endingError) Error() string { return string(e) }

func (endingError) Is(target error) bool { return target == errEnding }

var errEnding = errors.New("ending")

// unwritableError is returned for a format that can only be read.
type unwritableError string

func (e unwritableError) Error() string {
	return fmt.Sprintf("%s files can be read but not written", string(e))
}

func isDirectory(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// known returns an error if the target's format is unknown.
func known(c *cli.Tool, to, path string) error {
	if to == "" && modelfile.FormatOf(path) == "" && isDirectory(path) {
		return cli.BadArgument(fmt.Errorf("%s is a directory: name a file in it", path))
	}
	switch {
	case to == "":
	case !slices.Contains(format.Names(), to):
		return c.Usagef("-to takes %s, not %q%s", strings.Join(format.Writable(), ", "), to,
			cli.DidYouMean(to, "", format.Writable()))
	case !slices.Contains(format.Writable(), to):
		return cli.BadArgument(unwritableError(to))
	default:
		return nil
	}
	switch ending := modelfile.FormatOf(path); {
	case ending == "":
		return cli.BadArgument(endingError(fmt.Sprintf("cannot tell the format from %q: use -to FORMAT (%s)", path, strings.Join(format.Writable(), ", "))))
	case !slices.Contains(format.Writable(), ending):
		return cli.BadArgument(unwritableError(ending))
	case ending != "tsr" && os.IsPathSeparator(path[len(path)-1]):
		return c.Usagef("%s is a directory, but a %s model is a file", path, ending)
	}
	return nil
}

// namedDType returns the dtype with a name, or Invalid.
func namedDType(c *cli.Tool, option, name string, from []tensor.DType) (tensor.DType, error) {
	if name == "" {
		return tensor.Invalid, nil
	}
	d, _ := tensor.ParseDType(name)
	if !slices.Contains(from, d) {
		return d, c.Usagef("-%s takes %s, not %q", option, Choices(from), name)
	}
	return d, nil
}

func Choices(types []tensor.DType) string {
	var names []string
	for _, d := range types {
		names = append(names, d.String())
	}
	return strings.Join(names, ", ")
}
