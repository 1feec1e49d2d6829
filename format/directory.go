package format

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/internal/load"
)

const (
	shardIndex = ".index.json"
	torchIndex = ".bin" + shardIndex
	torchFile  = "pytorch_model.bin"
)

// usual are the names that open a model in a directory: the first that there is counts.
var usual = [...]string{"model.safetensors" + shardIndex, "model.safetensors", torchFile + shardIndex, torchFile}

// FindInDirectories lets Open find models in directories and follow links of caches and below Options.Root. Format
// packages call it from init, except those whose models are single files (tsr, mag, mobi), which keeps
// programs that link only these 20 kB smaller.
func FindInDirectories() {
	findInDirectory = (*Model).find
	load.Leave()
}

var findInDirectory func(m *Model, path string) error

// find opens the model in a directory.
func (m *Model) find(path string) error {
	dir := load.OpenDirectory(path, &m.opening)
	defer dir.Parsed()
	entries, err := dir.Entries()
	if err != nil {
		return err
	}
	name, of, err := choice(m.opening.Driver, entries)
	switch {
	case name != "":
		r, err := dir.Map(name)
		_, err = m.finish(r, err, filepath.Join(path, name))
		return err
	case err == nil:
		m.opening.Driver, m.opening.Path = of, path
		return m.m.OpenDir(&m.opening, entries)
	}
	return err
}

// choice returns the file of a directory that opens the model in it, or the format whose model all of
// the directory is. d is the format that it must be of, or nil.
func choice(d driver.Driver, entries []driver.DirEntry) (file string, of driver.Driver, err error) {
	for _, name := range usual {
		isIt := func(e driver.DirEntry) bool { return e.Name == name }
		if mayBe(d, name) && slices.ContainsFunc(entries, isIt) {
			return name, nil, nil
		}
	}
	var indexes, files []string
	for _, e := range entries {
		switch {
		case !e.Regular && e.Err == nil:
		case strings.HasSuffix(e.Name, shardIndex) && mayBe(d, e.Name):
			indexes = append(indexes, e.Name)
		case isFile(d, e.Name):
			files = append(files, e.Name)
		case of == nil && d == nil:
			of = keeper(e.Name, true)
		}
	}
	switch {
	case len(indexes) == 1:
		return indexes[0], nil, nil
	case len(files) == 1 || len(files) > 1 && areParts(files):
		return files[0], nil, nil
	case of != nil:
		return "", of, nil
	}
	return "", nil, undecided(append(indexes, files...), entries)
}

// mayBe reports whether a file that is called like an index of shards, or like the only file of a model,
// can be of a format.
func mayBe(d driver.Driver, name string) bool {
	want := "safetensors"
	if strings.HasSuffix(name, torchIndex) || name == torchFile {
		want = "torch"
	}
	return d == nil || d.Describe().Name == want
}

// isFile reports whether the name of a file is that of a model of d, or of any format that keeps models in files.
func isFile(d driver.Driver, name string) bool {
	if d != nil {
		return endsLike(d, name)
	}
	return keeper(name, false) != nil
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
	if len(models) > 0 {
		return &Error{Offset: -1, Err: fmt.Errorf("%w: the directory has several models: %s", ErrUnsupported, foreign.Names(models[:min(most, len(models))], len(models)))}
	}
	var names []string
	for _, e := range entries[:min(most, len(entries))] {
		names = append(names, e.Name)
	}
	return &Error{Offset: -1, Err: fmt.Errorf("%w: the directory has no model, only %s", ErrUnknownFormat, foreign.Names(names, len(entries)))}
}
