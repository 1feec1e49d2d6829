package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/directory"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/tensor"
)

// opened is an open model.
type opened struct {
	*format.Model
	path string // what opened it
	part string // the file that was named, if it is a part of the model; otherwise ""
	is   *partReport
}

// open opens a file of any format. If the file is a part of a model, it opens the whole model, where that is there
// and -part does not ask for the part.
func (a *access) open(name string, o *format.Options) (*opened, error) {
	m, err := openModel(name, o)
	if err != nil {
		return nil, adviseChoice(err)
	}
	alone := &opened{Model: m, path: name, is: describePart(m)}
	if alone.is == nil || a.part {
		return alone, nil
	}
	whole, at := wholeOf(name, o)
	if whole == nil {
		return alone, nil
	}
	m.Close()
	return &opened{Model: whole, path: at, part: name, is: alone.is}, nil
}

// adviseChoice adds to the error of a directory or repository the command that opens one of its models.
func adviseChoice(err error) error {
	name := choice(err)
	if name == "" {
		return err
	}
	return cli.Advised(err, tryWords([]string{"inspect", name}))
}

// choice returns the path of one of several models in a directory that could not be opened for
// that, or "".
func choice(err error) string {
	var u *directory.Undecided
	var e *tensor.Error
	if !errors.As(err, &u) || u.Name == "" || !errors.As(err, &e) {
		return ""
	}
	if isAddress(u.Name) {
		return u.Name
	}
	return filepath.Join(e.Path, filepath.FromSlash(u.Name))
}

// wholes are the models that were opened for their parts, by path.
type wholes map[string]bool

// again reports whether the model was opened for another part before.
func (w *wholes) again(o *opened) bool {
	if o.part == "" {
		return false
	}
	if *w == nil {
		*w = wholes{}
	}
	before := (*w)[o.path]
	(*w)[o.path] = true
	return before
}

// above refers to what was printed of a whole model.
func (o *opened) above() string {
	return fmt.Sprintf("%s: part %d of %d of %s, see above", shownName(o.part), o.is.Index, o.is.Count, shownName(o.path))
}

// partReport says which part of a model a file is.
type partReport struct {
	Index int `json:"index"` // from 1
	Count int `json:"count"`
}

// describePart returns nil for a whole model.
func describePart(m *format.Model) *partReport {
	no, count := m.Part()
	if count == 0 {
		return nil
	}
	return &partReport{no, count}
}

// String returns ", part 1 of 2", or "" for nil.
func (p *partReport) String() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf(", part %d of %d", p.Index, p.Count)
}

// wholeOf opens the model that the file called name is a part of. It returns nil if the other parts are not
// there.
func wholeOf(name string, o *format.Options) (*format.Model, string) {
	if name == standardInput {
		return nil, ""
	}
	for _, at := range opening(name) {
		whole, err := openModel(at, o)
		if err != nil {
			continue
		}
		_, count := whole.Part()
		if count == 0 && (isAddress(at) || has(whole, name)) {
			return whole, at
		}
		whole.Close()
	}
	return nil, ""
}

// opening returns the names of what may open the model that a file is a part of.
func opening(name string) []string {
	if isAddress(name) {
		address, query, asked := strings.Cut(name, "?")
		if asked {
			query = "?" + query
		}
		dir, base := path.Split(address)
		if strings.HasSuffix(base, ".gguf") {
			if all := shards.NamesLike(base); len(all) > 0 {
				return []string{dir + all[0] + query}
			}
			return nil
		}
		if index := shards.IndexLike(base); index != "" {
			return []string{dir + index + query}
		}
		return nil
	}
	dir, base := filepath.Split(name)
	if p := shards.PartOf(os.DirFS(filepath.Join(dir, ".")), base, nil); p.Opens != "" {
		return []string{filepath.Join(dir, p.Opens)}
	}
	return []string{filepath.Join(dir, ".")}
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

// partError is returned for a lone part in the place of a model.
type partError struct{ error }

var errPart = errors.New("part")

func (partError) Is(target error) bool { return target == errPart }

// refusePart returns an error if a file is a part whose model is not there, unless -part accepts it.
func (a *access) refusePart(o *opened) error {
	if o.part != "" || o.is == nil || a.part {
		return nil
	}
	for _, note := range o.Notes() {
		if strings.HasPrefix(note, "part ") {
			return partError{fmt.Errorf("%s is only %s: get the others, or use -part", shownName(o.path), note)}
		}
	}
	return partError{fmt.Errorf("%s is only a part of a model%s: get the others, or use -part", shownName(o.path), o.is)}
}

// checkTarget refuses to replace a part of a model by another file than that part.
func (o *opened) checkTarget(path string) error {
	dir, base := filepath.Split(path)
	p := shards.PartOf(os.DirFS(filepath.Join(dir, ".")), base, nil)
	if p.Count == 0 || o.is != nil && o.part == "" && has(o.Model, path) || !exists(path) {
		return nil
	}
	return fmt.Errorf("%s is %v: replacing it would break that model", path, p)
}

// complain prints what was opened for a part.
func (o *opened) complain(c *cli.Tool, errs io.Writer) {
	if o.part != "" {
		c.Complain(fmt.Errorf("%s is part %d of %d: opening the whole model, %s (-part opens only this file)", shownName(o.part), o.is.Index, o.is.Count, shownName(o.path)), errs)
	}
}

// headline describes a file in one line.
func headline(path string, m *format.Model) string {
	return fmt.Sprintf("%s: %s %s%s, %s, %s", shownName(path), m.Format(), m.Version(), describePart(m), cli.Count(m.Len(), "tensor"), cli.Size(m.Stats().FileSize))
}
