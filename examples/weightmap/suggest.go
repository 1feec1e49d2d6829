package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/tensor"
)

// What a suggested line makes instead.
const (
	anotherFormat = "another format holds it"
	fewerTensors  = "without these tensors"
)

// advise adds to an error a command line that works, or other advice.
func (o *convertFlags) advise(ctx context.Context, c *cli.Tool, l commandLine, m *format.Model, err error) error {
	whole := err
	if errors.Is(err, cli.ErrReported) {
		err = o.refused
	}
	s := search{ctx: ctx, c: c, m: m, secrets: o.secrets, usualShard: o.usualShard, whole: o.whole, left: 24}
	if ctx.Err() == nil && m != nil {
		if found, ok := s.mend(l, o, err, 4); ok {
			found = s.shorten(l, found, err)
			if line := tryLine(strings.TrimPrefix(c.Name, "weightmap "), found); line != "" {
				return cli.Advised(whole, line)
			}
			return cli.Advised(whole, "it works with "+quoted(slices.Concat(found.without("key", "encrypt").options...)))
		}
	}
	if path := choice(err); path != "" && len(l.files) > 0 {
		l.files[0] = path
		return cli.Advised(whole, tryLine(strings.TrimPrefix(c.Name, "weightmap "), l))
	}
	return cli.Advised(whole, instead(l, err))
}

// shorten removes options that were added during the search but are not needed.
func (s *search) shorten(l, found commandLine, err error) commandLine {
	var refused *schema.LossError
	var kind *kindError
	if !errors.As(err, &refused) && !errors.As(err, &kind) {
		return found // do not try what only writing can detect
	}
	for _, added := range []string{"extended", "lossy", "dtype"} {
		given := slices.ContainsFunc(l.options, func(o []string) bool { return optionName(o) == added })
		if _, err := s.try(found.without(added)); err == nil && !given {
			found = found.without(added)
		}
	}
	return found
}

// instead returns advice if no command line helps.
func instead(l commandLine, err error) string {
	in := "the input"
	if len(l.files) > 0 {
		in = cli.Printable(shownName(l.files[0]))
	}
	switch {
	case errors.Is(err, errNoMatch):
		return "try: " + quoted([]string{"weightmap", "inspect", l.files[0]})
	case errors.Is(err, format.ErrSchema):
	case errors.Is(err, format.ErrChecksum), errors.Is(err, format.ErrTruncated), errors.Is(err, format.ErrCorrupt):
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
func (s *search) try(l commandLine) (*convertFlags, error) {
	given := &convertFlags{secrets: s.secrets, usualShard: s.usualShard, whole: s.whole}
	f := s.c.Flags()
	given.define(s.c, f)
	if err := s.c.Parse(f, l.args(), io.Discard); err != nil {
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
	_, err = given.convert(s.ctx, s.c, s.m, l.files[0], target, func(o *convert.Options) { o.DryRun = true })
	return given, err
}

// mend searches for a working line, guided by the error of this one.
func (s *search) mend(l commandLine, o *convertFlags, err error, depth int) (commandLine, bool) {
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
func (o *convertFlags) candidates(l commandLine, m *format.Model, err error) (list []commandLine) {
	add := func(lines ...commandLine) { list = append(list, lines...) }
	var refused *schema.LossError
	var located *tensor.Error
	var kind *kindError
	var unwritable unwritableError
	errors.As(err, &located)
	switch {
	case errors.As(err, &unwritable):
		add(o.elsewhere(l, "safetensors"))
	case errors.Is(err, errPart):
		add(l.with("-part"))
	case located != nil && located.Field == "packed weights":
		add(l.with("-join"), o.elsewhere(l, "safetensors"))
	case located != nil && located.Field == "target":
		add(l.to(beside(o.path)))
	case errors.As(err, &kind):
		for _, k := range kind.has {
			add(l.with("-quantize", k))
		}
		add(o.elsewhere(l, "wia"))
	case errors.Is(err, errEnding):
		add(l.with("-to", m.Format()), l.with("-to", "safetensors"))
	case errors.Is(err, format.ErrOption) && located != nil && located.Field == "MaxShard" && o.usualShard > 0:
		add(o.elsewhere(l, "safetensors"))
	case errors.Is(err, format.ErrOption) && located != nil && located.Field == "Rename":
		// Without the option the names would not be what was asked for.
	case errors.Is(err, format.ErrOption) && located != nil:
		for option, name := range cli.Options() {
			if option == located.Field {
				add(l.without(name, "level"))
			}
		}
	case errors.As(err, &refused):
		list = o.instead(l, m, refused)
	case errors.Is(err, format.ErrQuantization) && located != nil && o.quantize != "" && o.quantize != "q8_0":
		if name, ok := tensorIn(located.Field); ok {
			add(l.with("-quantize-except", name))
		}
	case errors.Is(err, format.ErrUnsupported), errors.Is(err, format.ErrSchema), errors.Is(err, format.ErrQuantization):
		if !o.lossy {
			add(l.with("-lossy"))
		}
		if o.quantize != "" {
			add(l.with("-quantize", "float16"))
		}
		if o.dtype != "" {
			add(l.without("dtype"))
		}
	}
	return list
}

// beside returns a name that no file has yet, next to a file that must not be replaced.
func beside(name string) string {
	dir, base := filepath.Split(name)
	ending := filepath.Ext(base)
	stem := shards.Stem(base)
	if stem == "" {
		stem = strings.TrimSuffix(base, ending)
	}
	other := dir + stem + "-new" + ending
	for i := 2; exists(other); i++ {
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
func (o *convertFlags) elsewhere(l commandLine, kind string) commandLine {
	l.makes = anotherFormat
	out := o.path
	ending := formatOf(out)
	if ending != "" && ending != kind {
		out = strings.TrimSuffix(strings.TrimRight(out, `/\`), filepath.Ext(strings.TrimRight(out, `/\`))) + "." + kind
	} else if ending == "" {
		return l.with("-to", kind)
	}
	return l.without("to").to(out)
}

var notWeights = []tensor.DType{
	tensor.Bool, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64,
}

// instead returns command lines that may avoid losses.
func (o *convertFlags) instead(l commandLine, m *format.Model, refused *schema.LossError) (list []commandLine) {
	fixed := map[schema.LossKind][]string{}
	for _, loss := range refused.Losses {
		if !loss.Acceptable || loss.Kind == schema.LossQuantization && o.lossy {
			fixed[loss.Kind] = append(fixed[loss.Kind], loss.Name)
		}
	}
	if refused.Format == "mag" && !o.extended && fixed[schema.LossDType] != nil {
		list = append(list, l.with("-extended"))
	}
	if !o.lossy {
		return append(list, l.with("-lossy"))
	}
	if fixed[schema.LossTensors] != nil {
		list = append(list, o.elsewhere(l, "npz"))
	}
	if fixed[schema.LossDType] != nil && o.dtype+o.quantize == "" {
		list = append(list, l.with("-dtype", "float32"))
	}
	less, weights := l, false // leave tensors out: harmless if they are not weights
	names := slices.Concat(fixed[schema.LossDType], fixed[schema.LossShape])
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		less = less.with("-skip", name)
		less.makes = fewerTensors
		v, err := m.Tensor(name)
		weights = weights || err == nil && (v.Info().Quant != nil || !slices.Contains(notWeights, v.DType()))
	}
	if few := len(names) > 0 && len(names) < 9; few && !weights {
		list = append(list, less)
	} else if few {
		defer func() { list = append(list, less) }()
	}
	if fixed[schema.LossQuantization] != nil && o.quantize != "" {
		list = append(list, l.with("-quantize", "float16"))
	}
	for _, kind := range []string{"wia", "safetensors"} {
		if kind != refused.Format {
			list = append(list, o.elsewhere(l, kind))
		}
	}
	return list
}
