package format

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/shardname"
	"github.com/weightmap/weightmap/tensor"
)

// shardIndex implements disk.Index with the names of shards.
type shardIndex struct {
	driver    driver.Splitter
	places    driver.Places
	dir, stem string // of the parts
	extension string
	schemas   []*schema.Schema // of the parts; none for a model in one file
	names     []string         // of the parts, once they are written
}

func newShardIndex(d driver.Splitter, extension, path string) *shardIndex {
	x := &shardIndex{driver: d, places: d.Places(path), extension: extension}
	x.dir = filepath.Dir(x.places.Stem)
	x.stem = filepath.Base(x.places.Stem)
	return x
}

// Name implements disk.Index.
func (x *shardIndex) Name(i int, generation string) string {
	stem := x.stem
	if generation != "" {
		stem = shardname.WithGeneration(stem, generation)
	}
	return shardname.Name(stem, i+1, len(x.schemas), x.extension)
}

// Generation implements disk.Index.
func (x *shardIndex) Generation(name string) (generation string, ok bool) {
	stem, no, count, ok := shardname.Split(name, x.extension)
	if !ok || no < 1 || no > count {
		return "", false
	}
	if stem == x.stem {
		return "", true
	}
	model, generation := shardname.SplitStem(stem)
	return generation, model == x.stem && generation != ""
}

// Excludes implements disk.SplitNames: a part of a model with the same names, or that model in one
// file.
func (x *shardIndex) Excludes(names []string) string {
	for _, name := range names {
		generation, isPart := x.Generation(name)
		if isPart && generation == "" || name == x.stem+x.extension {
			return name
		}
	}
	return ""
}

// First implements disk.SplitNames.
func (x *shardIndex) First(name string) string {
	stem, _, count, ok := shardname.Split(name, x.extension)
	if !ok || stem != x.stem {
		return ""
	}
	return shardname.Name(stem, 1, count, x.extension)
}

// wholeSplit returns the first part of a model without an index that is there whole, or "".
func (x *shardIndex) wholeSplit(names []string) string {
	parts := make(map[int]int)
	for _, name := range names {
		stem, no, count, ok := shardname.Split(name, x.extension)
		if !ok || stem != x.stem || no < 1 || no > count {
			continue
		}
		parts[count]++
		if parts[count] == count {
			return shardname.Name(stem, 1, count, x.extension)
		}
	}
	return ""
}

// Write implements disk.Index.
func (x *shardIndex) Write(f *disk.File, names []string) error {
	x.names = names
	if len(x.schemas) == 0 {
		return nil // the file is the model
	}
	text, err := x.driver.Index(x.schemas, names)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	return err
}

// mostIndex limits the bytes of an index that is read.
const mostIndex = 100_000_000

// Read implements disk.Index.
func (x *shardIndex) Read(f *os.File) ([]string, error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, mostIndex+1))
	if err != nil {
		return nil, err
	}
	if len(text) > mostIndex {
		return nil, fmt.Errorf("%w: an index of more than %d bytes", tensor.ErrLimit, mostIndex)
	}
	return x.driver.Listed(text)
}

// MayList implements disk.Index.
func (x *shardIndex) MayList(name string) bool { return strings.HasSuffix(name, ".index.json") }

// plain returns the plain names of the parts.
func (x *shardIndex) plain() (names []string) {
	for i := range x.schemas {
		names = append(names, x.Name(i, ""))
	}
	return names
}

// paths returns the paths of the files, the one that opens the model first. Before the files are
// written their names are the plain ones.
func (x *shardIndex) paths() (paths []string) {
	if x.places.Index != "" {
		paths = append(paths, x.places.Index)
	}
	names := x.names
	if names == nil {
		names = x.plain()
	}
	for _, name := range names {
		paths = append(paths, filepath.Join(x.dir, name))
	}
	return paths
}
