package write

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// What a suggested line makes instead.
const (
	ViaOtherFormat = "another format holds it"
	FewerTensors   = "without these tensors"
)

// advise adds to an error a command line that works, or other advice.
func (o *convertFlags) advise(ctx context.Context, c *cli.Tool, l modelfile.CommandLine,
	m *format.Model, err error) error {
	whole := err
	if errors.Is(err, cli.ErrReported) {
		err = o.refused
	}
	s := search{ctx: ctx, c: c, m: m, secrets: o.secrets, usualShard: o.usualShard, whole: o.whole,
		left: 24}
	if ctx.Err() == nil && m != nil {
		if found, ok := s.mend(l, o, err, 4); ok {
			found = s.shorten(l, found, err)
			if line := modelfile.TryLine(strings.TrimPrefix(c.Name, "weightmap "), found); line != "" {
				return cli.Advised(whole, line)
			}
			shown := found.Without("key", "encrypt").Options
			return cli.Advised(whole, "it works with "+modelfile.Quoted(slices.Concat(shown...)))
		}
	}
	if path := modelfile.Choice(err); path != "" && len(l.Files) > 0 {
		l.Files[0] = path
		return cli.Advised(whole, modelfile.TryLine(strings.TrimPrefix(c.Name, "weightmap "), l))
	}
	return cli.Advised(whole, instead(l, err))
}

// shorten removes options that were added during the search but are not needed.
func (s *search) shorten(l, found modelfile.CommandLine, err error) modelfile.CommandLine {
	var refused *schema.LossError
	var kind *kindError
	if !errors.As(err, &refused) && !errors.As(err, &kind) {
		return found // do not try what only writing can detect
	}
	for _, added := range []string{"extended", "lossy", "dtype"} {
		given := slices.ContainsFunc(l.Options,
			func(o []string) bool { return modelfile.OptionName(o) == added })
		if _, err := s.try(found.Without(added)); err == nil && !given {
			found = found.Without(added)
		}
	}
	return found
}

// instead returns advice if no command line helps.
func instead(l modelfile.CommandLine, err error) string {
	in := "the input"
	if len(l.Files) > 0 {
		in = cli.Printable(modelfile.ShownName(l.Files[0]))
	}
	var signer *SignerError
	switch {
	case errors.As(err, &signer):
		return MakeKey(signer.Needs)
	case errors.Is(err, errNoMatch):
		return "try: " + modelfile.Quoted([]string{"weightmap", "inspect", l.Files[0]})
	case errors.Is(err, format.ErrSchema):
	case errors.Is(err, format.ErrChecksum), errors.Is(err, format.ErrTruncated),
		errors.Is(err, format.ErrCorrupt):
		return "no option helps against damage: fetch or make " + in + " again"
	}
	return ""
}

// search searches for a command line that works, by planning without writing.
type search struct {
	ctx  context.Context
	c    *cli.Tool
	m    *format.Model
	left int // remaining attempts

	secrets    *secrets
	usualShard cli.ByteSize
	whole      bool
}

// try returns the error of a command line, if any.
func (s *search) try(l modelfile.CommandLine) (*convertFlags, error) {
	given := &convertFlags{secrets: s.secrets, usualShard: s.usualShard, whole: s.whole}
	f := s.c.Flags()
	given.define(s.c, f)
	if err := s.c.Parse(f, l.Args(), io.Discard); err != nil {
		return given, err
	}
	err := given.checkNames(s.c)
	if err != nil {
		return given, err
	}
	_, target, _, err := s.c.InOut(f, given.out)
	if err != nil {
		return given, err
	}
	_, err = given.convert(s.ctx, s.c, s.m, l.Files[0], target,
		func(o *convert.Options) { o.DryRun = true })
	return given, err
}

// mend searches for a working line, guided by the error of this one.
func (s *search) mend(l modelfile.CommandLine, o *convertFlags, err error,
	depth int) (modelfile.CommandLine, bool) {
	for _, other := range o.candidates(l, s.m, err) {
		if s.left--; s.left < 0 || depth == 0 || s.ctx.Err() != nil {
			break
		}
		given, err := s.try(other)
		if err == nil {
			return other, true
		}
		if found, ok := s.mend(other, given, err, depth-1); ok {
			return found, true
		}
	}
	return l, false
}

// candidates returns command lines that may avoid an error, those that lose least first.
func (o *convertFlags) candidates(l modelfile.CommandLine, m *format.Model,
	err error) (list []modelfile.CommandLine) {
	add := func(lines ...modelfile.CommandLine) { list = append(list, lines...) }
	var refused *schema.LossError
	var located *tensor.Error
	var kind *kindError
	var unwritable unwritableError
	errors.As(err, &located)
	switch {
	case errors.As(err, &unwritable):
		add(o.elsewhere(l, "safetensors"))
	case errors.Is(err, modelfile.ErrPart):
		add(l.With("-part"))
	case located != nil && located.Field == "packed weights":
		add(l.With("-join"), o.elsewhere(l, "safetensors"))
	case located != nil && located.Field == "target":
		add(l.To(beside(o.path)))
	case errors.As(err, &kind):
		for _, k := range kind.has {
			add(l.With("-quantize", k))
		}
		add(o.elsewhere(l, "wia"))
	case errors.Is(err, errEnding):
		add(o.unknownEnding(l, m.Format())...)
	case errors.Is(err, format.ErrOption) && located != nil && located.Field == "MaxShard" &&
		o.usualShard > 0:
		add(o.elsewhere(l, "safetensors"))
	case errors.Is(err, format.ErrOption) && located != nil &&
		(located.Field == "Key" || located.Field == "Signer"):
		add(o.protectedElsewhere(l)...)
	case errors.Is(err, format.ErrOption) && located != nil && located.Field == "Rename":
		// Without the option the names would not be what was asked for.
	case errors.Is(err, format.ErrOption) && located != nil:
		for option, name := range cli.Options() {
			if option == located.Field {
				add(l.Without(name, "level"))
			}
		}
	case errors.As(err, &refused):
		list = o.instead(l, m, refused)
	case errors.Is(err, format.ErrQuantization) && located != nil && o.quantize != "" &&
		o.quantize != "q8_0":
		if name, ok := tensorIn(located.Field); ok {
			add(l.With("-quantize-except", name))
		}
	case errors.Is(err, format.ErrUnsupported), errors.Is(err, format.ErrSchema),
		errors.Is(err, format.ErrQuantization):
		if !o.lossy {
			add(l.With("-lossy"))
		}
		if o.quantize != "" {
			add(l.With("-quantize", "float16"))
		}
		if o.dtype != "" {
			add(l.Without("dtype"))
		}
	}
	return list
}

// beside returns a name that no file has yet, next to a file that must not be replaced.
func beside(name string) string {
	dir, base := filepath.Split(name)
	ending := filepath.Ext(base)
	stem, _ := modelfile.SplitNumber(base)
	if stem == "" {
		stem = strings.TrimSuffix(base, ending)
	}
	other := dir + stem + "-new" + ending
	for i := 2; modelfile.Exists(other); i++ {
		other = dir + stem + "-new" + strconv.Itoa(i) + ending
	}
	return other
}

// tensorIn returns the tensor in the field of an error.
func tensorIn(field string) (string, bool) {
	text, ok := strings.CutPrefix(field, "tensor ")
	name, err := strconv.Unquote(text)
	return name, ok && err == nil
}

// elsewhere returns the line with OUT in another format.
func (o *convertFlags) elsewhere(l modelfile.CommandLine, kind string) modelfile.CommandLine {
	l.Makes = ViaOtherFormat
	out := o.path
	ending := modelfile.FormatOf(out)
	if ending != "" && ending != kind {
		out = strings.TrimSuffix(strings.TrimRight(out, `/\`),
			filepath.Ext(strings.TrimRight(out, `/\`))) + "." + kind
	} else if ending == "" {
		return l.With("-to", kind)
	}
	return l.Without("to").To(out)
}

var notWeights = []tensor.DType{
	tensor.Bool, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16,
	tensor.Uint32, tensor.Uint64,
}

// instead returns command lines that may avoid losses.
func (o *convertFlags) instead(l modelfile.CommandLine, m *format.Model,
	refused *schema.LossError) (list []modelfile.CommandLine) {
	fixed := map[schema.LossKind][]string{}
	for _, loss := range refused.Losses {
		if !loss.Acceptable || loss.Kind == schema.LossQuantization && o.lossy {
			fixed[loss.Kind] = append(fixed[loss.Kind], loss.Name)
		}
	}
	if refused.Format == "mag" && !o.extended && fixed[schema.LossDType] != nil {
		list = append(list, l.With("-extended"))
	}
	if !o.lossy {
		return append(list, l.With("-lossy"))
	}
	if fixed[schema.LossTensors] != nil {
		list = append(list, o.elsewhere(l, "npz"))
	}
	if fixed[schema.LossDType] != nil && o.dtype+o.quantize == "" {
		list = append(list, l.With("-dtype", "float32"))
	}
	less := l
	weights := false // leave tensors out: harmless if they are not weights
	names := slices.Concat(fixed[schema.LossDType], fixed[schema.LossShape])
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		less = less.With("-skip", name)
		less.Makes = FewerTensors
		v, err := m.Tensor(name)
		weights = weights || err == nil && (v.Info().Quant != nil ||
			!slices.Contains(notWeights, v.DType()))
	}
	if few := len(names) > 0 && len(names) < 9; few && !weights {
		list = append(list, less)
	} else if few {
		defer func() { list = append(list, less) }()
	}
	if fixed[schema.LossQuantization] != nil && o.quantize != "" {
		list = append(list, l.With("-quantize", "float16"))
	}
	for _, kind := range []string{"wia", "safetensors"} {
		if kind != refused.Format {
			list = append(list, o.elsewhere(l, kind))
		}
	}
	return list
}
