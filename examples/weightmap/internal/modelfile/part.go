package modelfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// opened is an open model.
type opened struct {
	*format.Model
	Path string // what opened it
	Part string // the file that was named, if it is a part of the model; otherwise ""
	Is   *PartReport
}

// Open opens a file of any format. If the file is a part of a model, it opens the whole model,
// where that is there and -part does not ask for the part.
func (a *Access) Open(name string, o *format.Options) (*opened, error) {
	m, err := OpenModel(name, o)
	if err != nil {
		return nil, AdviseChoice(a.command(), err)
	}
	alone := &opened{Model: m, Path: name, Is: DescribePart(m)}
	if alone.Is == nil || a.Part {
		return alone, nil
	}
	whole, at := wholeOf(name, o)
	if whole == nil {
		return alone, nil
	}
	m.Close()
	return &opened{Model: whole, Path: at, Part: name, Is: alone.Is}, nil
}

// command returns the command to suggest that takes one FILE.
func (a *Access) command() string {
	if strings.HasSuffix(a.tool.Name, " verify") {
		return "verify"
	}
	return "inspect"
}

// AdviseChoice adds to the error of a directory or repository the command that opens one of its
// models.
func AdviseChoice(command string, err error) error {
	name := Choice(err)
	if name == "" {
		return err
	}
	return cli.Advised(err, TryWords([]string{command, name}))
}

// Choice returns the path or address of one of several models in a directory that could not be
// opened for that, or "".
func Choice(err error) string {
	var choice *format.ChoiceError
	var e *tensor.Error
	if !errors.As(err, &choice) || !errors.As(err, &e) {
		return ""
	}
	name := choice.Names[0]
	if IsAddress(name) {
		return name
	}
	return filepath.Join(e.Path, filepath.FromSlash(name))
}

// Wholes are the models that were opened for their parts, by path.
type Wholes map[string]bool

// Again reports whether the model was opened for another part before.
func (w *Wholes) Again(o *opened) bool {
	if o.Part == "" {
		return false
	}
	if *w == nil {
		*w = Wholes{}
	}
	before := (*w)[o.Path]
	(*w)[o.Path] = true
	return before
}

// Above refers to what was printed of a whole model.
func (o *opened) Above() string {
	return fmt.Sprintf("%s: part %d of %d of %s, see above", ShownName(o.Part), o.Is.Index, o.Is.Count,
		ShownName(o.Path))
}

// PartReport says which part of a model a file is.
type PartReport struct {
	Index int `json:"index"` // from 1
	Count int `json:"count"`
}

// DescribePart returns nil for a whole model.
func DescribePart(m *format.Model) *PartReport {
	no, count := m.Part()
	if count == 0 {
		return nil
	}
	return &PartReport{no, count}
}

// String returns ", part 1 of 2", or "" for nil.
func (p *PartReport) String() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf(", part %d of %d", p.Index, p.Count)
}

// wholeOf opens the model that the file called name is a part of. It returns nil if the other parts
// are not there.
func wholeOf(name string, o *format.Options) (*format.Model, string) {
	if name == StandardInput {
		return nil, ""
	}
	for _, at := range opening(name) {
		whole, err := OpenModel(at, o)
		if err != nil {
			continue
		}
		_, count := whole.Part()
		if count == 0 && (IsAddress(at) || has(whole, name)) {
			return whole, at
		}
		whole.Close()
	}
	return nil, ""
}

// has reports whether a file is one of a model's.
func has(m *format.Model, name string) bool {
	is, err := os.Stat(name)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(m.Files(), func(file string) bool {
		other, err := os.Stat(file)
		return err == nil && os.SameFile(is, other)
	})
}

// PartError is returned for a lone part in the place of a model.
type PartError string

func (e PartError) Error() string { return string(e) }

var ErrPart = errors.New("part")

func (PartError) Is(target error) bool { return target == ErrPart }

// RefusePart returns an error if a file is a part whose model is not there, unless -part accepts
// it.
func (a *Access) RefusePart(o *opened) error {
	if o.Part != "" || o.Is == nil || a.Part {
		return nil
	}
	return PartError(fmt.Sprintf("%s is only %s: get the others, or use -part", ShownName(o.Path),
		partNote(o.Model)))
}

// partNote says which part of a model a file is, and what opens the model. It is "" for no part.
func partNote(m *format.Model) string {
	for _, note := range m.Notes() {
		if strings.HasPrefix(note, "part ") {
			return note
		}
	}
	no, count := m.Part()
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("part %d of %d of a model", no, count)
}

// CheckTarget refuses to replace a part of a model by another file than that part. reading are the
// options to open the part with.
func (o *opened) CheckTarget(path string, reading *format.Options) error {
	if !Exists(path) || o.Is != nil && o.Part == "" && has(o.Model, path) {
		return nil
	}
	what := partAt(path, reading)
	if what == "" {
		return nil
	}
	return fmt.Errorf("%s is %s: replacing it would break that model", path, what)
}

// partAt says which part of a model the file at a path is, or returns "". One that does not open
// may be a part by its name.
func partAt(path string, o *format.Options) string {
	m, err := format.Open(path, o)
	if err == nil {
		defer m.Close()
		return partNote(m)
	}
	stem, count := SplitNumber(filepath.Base(path))
	if stem == "" {
		return ""
	}
	return fmt.Sprintf("called like one of %d parts of a model", count)
}

// Complain prints what was opened for a part.
func (o *opened) Complain(c *cli.Tool, errs io.Writer) {
	if o.Part != "" {
		c.Complain(fmt.Errorf("%s is part %d of %d: opening the whole model, %s (-part opens only this file)", ShownName(o.Part), o.Is.Index, o.Is.Count, ShownName(o.Path)), errs)
	}
}

// Headline describes a file in one line.
func Headline(path string, m *format.Model) string {
	return fmt.Sprintf("%s: %s %s%s, %s, %s", ShownName(path), m.Format(), m.Version(),
		DescribePart(m), cli.Count(m.Len(), "tensor"), cli.Size(m.Stats().FileSize))
}
