package format

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/shards"
	"github.com/weightmap/weightmap/internal/wire"
)

const (
	shardIndex = ".index.json"
	torchIndex = ".bin" + shardIndex
)

// usual are the files that open a model in a directory: the first that there is counts. The order crosses formats, and
// the format need not be linked: what a directory opens as must not depend on that.
var usual = [...]struct{ file, format string }{
	{"model.safetensors" + shardIndex, "safetensors"},
	{"model.safetensors", "safetensors"},
	{"pytorch_model" + torchIndex, "torch"},
	{"pytorch_model.bin", "torch"},
	{"adapter_model.safetensors", "safetensors"},
	{"adapter_model.bin", "torch"},
	{"diffusion_pytorch_model.safetensors" + shardIndex, "safetensors"},
	{"diffusion_pytorch_model.safetensors", "safetensors"},
}

// besides are patterns of names of files that tools leave beside a model.
var besides = [...]string{"optimizer.pt", "scheduler.pt", "rng_state*.pth", "scaler.pt", "training_args.bin", "tokenizer*", "*.json"}

// dirFormat is the format of this module whose models are directories of files.
const dirFormat = "tsr"

// openDir opens the model in the directory of m.opening.Door. name is that of the directory. isPath reports that it is a
// path, and not a name in a file system.
func (m *Model) openDir(name string, isPath bool) (*Model, error) {
	c := &m.opening
	defer c.Door.Close()
	asked := With(c.Driver).Name()
	entries, err := c.Door.Entries()
	if err == nil {
		err = m.openEntry(entries, name, isPath)
	}
	if err == nil {
		return m, nil
	}
	files := make([]string, len(entries))
	for i, e := range entries {
		files[i] = e.Name
	}
	is := foreign.Directory(name, files)
	if is != "" {
		err = named(err, is, asked, name)
	}
	return nil, wire.Explain(err, asked, name)
}

// openEntry opens the model in a directory with these entries.
func (m *Model) openEntry(entries []driver.DirEntry, name string, isPath bool) error {
	c := &m.opening
	file, of, err := choose(c.Driver, entries)
	if err != nil && file != "" {
		return wire.Explain(err, "", c.Door.Path(file))
	}
	if err != nil {
		if c.Door.HasChanged() { // a listing may miss a file that takes the place of another one
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		return err
	}
	if file == "" {
		c.Driver, c.Name = of, name
		if isPath {
			c.Path = name
		}
		return m.m.OpenDir(c)
	}
	c.Name = c.Door.Path(file)
	opened := ""
	if isPath {
		opened = c.Name
	}
	r, err := c.OpenEntry(file)
	if errors.Is(err, fs.ErrNotExist) && isThere(entries, file) { // it was replaced since the directory was listed
		return fmt.Errorf("%w%.0w", ErrChanged, err)
	}
	_, err = m.finish(r, err, opened)
	return err
}

// isThere reports whether a file is a regular one, or a link to one, in a list of entries.
func isThere(entries []driver.DirEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e driver.DirEntry) bool { return e.Name == name && e.Regular })
}

// choose returns the file of a directory that opens the model in it, or the format whose model all of
// the directory is. d is the format that it must be of, or nil.
func choose(d driver.Driver, entries []driver.DirEntry) (file string, of driver.Driver, err error) {
	_, isDirs := d.(driver.DirParser)
	if isDirs {
		return "", d, nil
	}
	for _, u := range usual {
		isIt := func(e driver.DirEntry) bool { return e.Name == u.file }
		if slices.ContainsFunc(entries, isIt) && mayBe(d, u.format) {
			return u.file, nil, checkDriver(d, u.file, u.format)
		}
	}
	var indexes, files []string
	parts := "" // a file of a model that is a directory
	for _, e := range entries {
		format := formatOf(e.Name)
		switch {
		case !e.Regular && e.Err == nil:
		case strings.HasSuffix(e.Name, shardIndex):
			if mayBe(d, indexFormat(e.Name)) {
				indexes = append(indexes, e.Name)
			}
		case format == "" || !mayBe(d, format) || isBeside(e.Name):
		case !isOfDirectories(format):
			files = append(files, e.Name)
		case parts == "":
			parts = e.Name
		}
	}
	files = withoutParts(files)
	switch {
	case len(indexes) == 1:
		return indexes[0], nil, checkDriver(d, indexes[0], indexFormat(indexes[0]))
	case len(files) == 1 && !isPart(files[0]) || len(files) > 1 && areParts(files):
		return files[0], nil, checkDriver(d, files[0], formatOf(files[0]))
	case parts != "":
		c, err := Lookup(formatOf(parts))
		return "", c.d, err
	}
	return "", nil, undecided(append(indexes, files...), entries)
}

// mayBe reports whether a file of a format may be the model if d is the format that was asked for, or nil.
func mayBe(d driver.Driver, format string) bool { return d == nil || d.Describe().Name == format }

// indexFormat returns the format of the files that an index of shards names.
func indexFormat(index string) string {
	if strings.HasSuffix(index, torchIndex) {
		return "torch"
	}
	return "safetensors"
}

// formatOf returns the format of files with the ending of name, linked or not, or "".
func formatOf(name string) string {
	c, ok := ByExtension(name)
	if ok {
		return c.Name()
	}
	return foreign.ByEnding(name)
}

// checkDriver returns an error that names the package to import if no linked format has files called name. d is the format
// that was asked for, or nil.
func checkDriver(d driver.Driver, name, format string) error {
	_, ok := ByExtension(name)
	if ok || d != nil {
		return nil
	}
	return noDriver(format)
}

// isOfDirectories reports whether models of a format are directories.
func isOfDirectories(format string) bool {
	c, err := Lookup(format)
	if err != nil {
		return format == dirFormat
	}
	_, ok := c.d.(driver.DirParser)
	return ok
}

// isBeside reports whether name is that of a file that tools leave beside a model.
func isBeside(name string) bool {
	return slices.ContainsFunc(besides[:], func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// isPart reports whether a file is a part of a model by its name.
func isPart(name string) bool { return shards.PartByName(name).Count > 0 }

// withoutParts removes parts of a model that is there in one file: they are left from an older one, or they are not all
// there yet. The parts of a whole split GGUF model stay.
func withoutParts(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		if !isPart(name) || !slices.Contains(files, shards.Stem(name)+path.Ext(name)) {
			return false
		}
		isWhole := !slices.ContainsFunc(shards.NamesLike(name), func(part string) bool { return !slices.Contains(files, part) })
		return !isWhole || formatOf(name) != "gguf"
	})
}

// areParts reports whether sorted names are those of the parts of one split GGUF model, from the first on.
func areParts(names []string) bool {
	const first = "-00001-of-"
	stem, tail, ok := strings.Cut(names[0], first)
	for _, name := range names {
		ok = ok && len(name) == len(names[0]) && strings.HasPrefix(name, stem+"-") && strings.HasSuffix(name, "-of-"+tail)
	}
	return ok && strings.HasSuffix(tail, ".gguf")
}

// undecided is the error of a directory with no model, or with several.
func undecided(models []string, entries []driver.DirEntry) error {
	const most = 12
	if len(models) == 1 {
		return &Error{Offset: -1, Err: fmt.Errorf("%w: the directory has only a part of a model; open it by its name, %s", ErrUnsupported, models[0])}
	}
	if len(models) > 0 {
		list := foreign.Names(models[:min(most, len(models))], len(models))
		return &Error{Offset: -1, Err: fmt.Errorf("%w: the directory has several models: %s; open one by its name, such as %s", ErrUnsupported, list, models[0])}
	}
	var names []string
	for _, e := range entries[:min(most, len(entries))] {
		names = append(names, e.Name)
	}
	advice := ""
	for _, e := range entries {
		if e.Regular && formatOf(e.Name) != "" {
			advice = "; open a file that is not the model by its name, such as " + e.Name
			break
		}
	}
	list := foreign.Names(names, len(entries))
	return &Error{Offset: -1, Err: fmt.Errorf("%w: the directory has no model, only %s%s", ErrUnknownFormat, list, advice)}
}
