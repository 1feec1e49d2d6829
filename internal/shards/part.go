package shards

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/shardname"
	"github.com/weightmap/weightmap/tensor"
)

// IndexEnding is how the names of indexes end.
const IndexEnding = ".index.json"

// mostIndexes is the number of indexes of a directory that are read.
const mostIndexes = 16

// endings are those of files that may be parts of a model.
var endings = []string{ggufEnding, ".safetensors", ".bin", ".pt", ".pth", ".ckpt"}

// ggufEnding is that of files whose first part opens all, without an index.
const ggufEnding = ".gguf"

// Part says which part of a model a file is. The zero Part is that of a file that is no part.
type Part struct {
	No, Count int    // the number of the file, from 1, and that of all files
	Index     string // the index in the same directory that lists it, or ""
	Opens     string // the file in the same directory that opens the whole model, or ""
	Missing   string // a part that is not there, or ""
}

// String returns "part 1 of 2 of a model", and what opens the model.
func (p Part) String() string {
	text := fmt.Sprintf("part %d of %d of a model", p.No, p.Count)
	switch {
	case p.Opens != "":
		return text + ", which " + p.Opens + " opens"
	case p.Missing != "":
		return text + ", of which " + p.Missing + " is not there"
	}
	return text
}

// NoIndex is the note of a model whose parts no index lists.
func NoIndex(count int) string {
	return fmt.Sprintf("no index lists the %d parts of the model: they were found by their names", count)
}

// PartByName returns what the name of a file says: "m-00001-of-00003.gguf" is part 1 of 3.
func PartByName(name string) Part {
	_, no, count, ok := splitName(name)
	if !ok || no < 1 || no > count || count < 2 {
		return Part{}
	}
	return Part{No: no, Count: count}
}

// NamesLike returns the names of all parts of the model that a file is a part of by its name.
func NamesLike(name string) []string {
	stem, _, count, ok := splitName(name)
	if !ok {
		return nil
	}
	return shardname.Names(stem, count, path.Ext(name))
}

// Stem returns the name of a file without its number, "m" for "m-00001-of-00003.gguf", or "" if it
// has none.
func Stem(name string) string {
	stem, _, _, _ := splitName(name)
	return stem
}

// InOneFile returns the name of the file that a model of parts replaces, "m.gguf" for
// "m-00001-of-00003.gguf", whatever the generation of the parts. It is "" if a file is no part by
// its name.
func InOneFile(name string) string {
	stem := Stem(name)
	if stem == "" {
		return ""
	}
	model, _ := shardname.SplitStem(stem)
	return model + path.Ext(name)
}

// IndexLike returns the usual name of the index of the model that a file is a part of by its name,
// or "".
func IndexLike(name string) string {
	stem, _, _, ok := splitName(name)
	if !ok {
		return ""
	}
	return stem + path.Ext(name) + IndexEnding
}

func splitName(name string) (stem string, no, count int, ok bool) {
	ending := path.Ext(name)
	if !slices.Contains(endings, ending) {
		return "", 0, 0, false
	}
	return shardname.Split(name, ending)
}

// PartOf returns which part of a model the file called name in dir is: that of an index that lists
// it beside others, or that of its name. Reading an index takes at most what memory has left.
func PartOf(dir fs.FS, name string, memory *driver.Memory) Part {
	if !slices.Contains(endings, path.Ext(name)) {
		return Part{}
	}
	entries, err := fs.ReadDir(dir, ".")
	if err != nil && len(entries) == 0 {
		return PartByName(name) // a file system that does not list directories
	}
	for _, index := range indexes(entries, name) {
		p := listed(dir, index, name, memory)
		if p.Count > 0 {
			return p
		}
	}
	p := PartByName(name)
	if p.Count == 0 {
		return p
	}
	stem, _, _, _ := splitName(name)
	p.complete(dir, shardname.Names(stem, p.Count, path.Ext(name)))
	if p.Missing == "" && path.Ext(name) == ggufEnding {
		p.Opens = shardname.Name(stem, 1, p.Count, ggufEnding)
	}
	return p
}

// indexes returns the names of the indexes that may list a file, first the one that is called like
// it.
func indexes(entries []fs.DirEntry, name string) []string {
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), IndexEnding) {
			names = append(names, e.Name())
		}
	}
	own := slices.Index(names, IndexLike(name))
	if own > 0 {
		names = slices.Insert(slices.Delete(names, own, own+1), 0, IndexLike(name))
	}
	return names[:min(len(names), mostIndexes)]
}

// listed returns which part a file is of the model that an index describes.
func listed(dir fs.FS, index, name string, memory *driver.Memory) Part {
	b, err := read(dir, index, memory)
	if err != nil {
		return Part{}
	}
	w, err := Parse("", b, memory)
	if err != nil {
		return Part{}
	}
	var files []string
	for _, s := range w.Shards {
		files = append(files, s.Name)
	}
	slices.Sort(files)
	at := slices.Index(files, name)
	if at < 0 || len(files) < 2 {
		return Part{}
	}
	p := Part{No: at + 1, Count: len(files), Index: index}
	p.complete(dir, files)
	if p.Missing == "" {
		p.Opens = index
	}
	return p
}

// complete sets Missing to the first of the files that is not there.
func (p *Part) complete(dir fs.FS, files []string) {
	for _, name := range files {
		_, err := fs.Stat(dir, name)
		if err != nil {
			p.Missing = name
			return
		}
	}
}

// read reads an index.
func read(dir fs.FS, name string, memory *driver.Memory) ([]byte, error) {
	st, err := fs.Stat(dir, name) // before it is opened, which would wait for the writer of a pipe
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxIndex {
		return nil, errNoIndex
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = memory.Reserve(st.Size())
	if err != nil {
		return nil, err
	}
	b := make([]byte, st.Size())
	_, err = io.ReadFull(f, b)
	return b, err
}

var errNoIndex = fmt.Errorf("%w: not the index of a model", tensor.ErrCorrupt)
