package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/shardname"
	"github.com/weightmap/weightmap/internal/wire"
)

// fileKeys are the keys that are about the files and not about the model; those before alignment
// are left out of its metadata.
var fileKeys = [...]string{splitNo: "split.no", splitCount: "split.count", splitTensors: "split.tensors.count", alignment: keyAlignment}

const (
	splitNo = iota
	splitCount
	splitTensors
	alignment
)

func isSplitKey(key string) bool { return slices.Contains(fileKeys[:alignment], key) }

// located is an integer of the metadata, and where it is: at 0 if it is missing.
type located struct{ value, at int64 }

// note takes an entry that describes the file; the first of each key counts.
func (p *part) note(e *entry) error {
	key := slices.Index(fileKeys[:], string(e.key))
	if key < 0 || p.said[key].at > 0 {
		return nil
	}
	n, isInteger := e.neutral().(int64)
	p.said[key] = located{n, e.at}
	switch {
	case key == alignment && e.typ != typeUint32:
		return wire.Errorf(formatName, "metadata type", e.at-4, format.ErrCorrupt, "type %d; the alignment is a uint32", e.typ)
	case key == alignment:
		if err := checkAlign(uint32(n)); err != nil {
			return wire.Error(formatName, "metadata value", e.at, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
		}
	case !isInteger || n < 0 || n > math.MaxInt32:
		return wire.Errorf(formatName, "metadata value", e.at, format.ErrCorrupt, "no integer of 0 to 2^31-1")
	}
	return nil
}

// errorf is an error about one of the keys.
func errorf(key int, at int64, text string, args ...any) error {
	return wire.Errorf(formatName, fileKeys[key], at, format.ErrCorrupt, text, args...)
}

// join opens the other parts of a split model if the file is the first of them.
func (f *parsed) join() error {
	s := f.parts[0].said
	src := f.parts[0].src
	no := s[splitNo]
	count := s[splitCount]
	tensors := s[splitTensors]
	if count.value < 2 {
		if no.value > 0 {
			return errorf(splitNo, no.at, "%d, but there is one part", no.value)
		}
		return f.checkTotal()
	}
	stem, namedNo, namedCount, named := shardname.Split(filepath.Base(src.Path()), extension)
	switch {
	case no.at == 0:
		return errorf(splitNo, count.at, "missing beside %s", fileKeys[splitCount])
	case tensors.at == 0:
		return errorf(splitTensors, count.at, "missing beside %s", fileKeys[splitCount])
	case no.value >= count.value:
		return errorf(splitNo, no.at, "%d of %d parts", no.value, count.value)
	case named && namedCount != int(count.value):
		return errorf(splitCount, count.at, "%d parts, the name of the file says %d", count.value, namedCount)
	case named && namedNo != int(no.value)+1:
		return errorf(splitNo, no.at, "part %d, counted from 0, the name of the file says %d, counted from 1", no.value, namedNo)
	}
	f.count = int(count.value)
	if !named || no.value > 0 {
		f.no = int(no.value) + 1
		return nil
	}
	dir, err := src.Dir()
	if err != nil {
		return wire.Error(formatName, fileKeys[splitCount], count.at, err)
	}
	for i := 1; i < namedCount; i++ {
		if i%expected == 1 {
			dir.Expect(partNames(stem, i, namedCount))
		}
		if err := f.opts.Context.Err(); err != nil {
			return err
		}
		if err := f.addPart(dir, shardname.Name(stem, i+1, namedCount, extension), i); err != nil {
			return err
		}
	}
	return f.checkTotal()
}

// expected is the number of parts that are announced at once: the count in a file can be wrong.
const expected = 64

// partNames returns the names of the next parts, from part i on, counted from 0.
func partNames(stem string, i, count int) (names []string) {
	for ; i < count && len(names) < expected; i++ {
		names = append(names, shardname.Name(stem, i+1, count, extension))
	}
	return names
}

// addPart opens part i, counted from 0.
func (f *parsed) addPart(dir driver.Dir, name string, i int) error {
	first := &f.parts[0].said
	src, space, err := dir.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", format.ErrTruncated, err)
		}
		return wire.Error(formatName, fileKeys[splitCount], first[splitCount].at, fmt.Errorf("part %d of %d: %w", i+1, first[splitCount].value, err))
	}
	if err = f.add(src, space); err == nil {
		s := &f.parts[i].said
		if s[splitNo].value != int64(i) {
			err = errorf(splitNo, s[splitNo].at, "%d instead of %d", s[splitNo].value, i)
		}
		for key := splitCount; key <= splitTensors && err == nil; key++ {
			if s[key].at > 0 && s[key].value != first[key].value {
				err = errorf(key, s[key].at, "%d, the first part has %d", s[key].value, first[key].value)
			}
		}
	}
	return wire.Place(err, "", src.Path(), "")
}

// checkTotal compares the number of tensors of all parts with what the first says.
func (f *parsed) checkTotal() error {
	s := f.parts[0].said[splitTensors]
	n := int64(f.index.Len())
	if s.at > 0 && s.value != n {
		return errorf(splitTensors, s.at, "%d, there are %d", s.value, n)
	}
	return nil
}

// Places implements driver.Splitter with the names of gguf-split. path may be that of a part.
func (fileFormat) Places(path string) driver.Places {
	dir, base := filepath.Split(path)
	stem, _, _, ok := shardname.Split(base, extension)
	if ok {
		return driver.Places{Stem: dir + stem}
	}
	return driver.Places{File: path, Stem: strings.TrimSuffix(path, extension)}
}

// Split implements driver.Splitter, with metadata as gguf-split has it: the first part has that of
// the model, and all say which part they are.
func (fileFormat) Split(parts []*schema.Schema) {
	meta := slices.DeleteFunc(parts[0].Metadata, func(e schema.Entry) bool { return isSplitKey(e.Key) })
	total := 0
	for _, p := range parts {
		meta = withQuantVersion(meta, p.Tensors)
		total += len(p.Tensors)
	}
	for i, p := range parts {
		p.Metadata = append(slices.Clip(meta), schema.Entry{Key: fileKeys[splitNo], Value: uint16(i)},
			schema.Entry{Key: fileKeys[splitCount], Value: uint16(len(parts))}, schema.Entry{Key: fileKeys[splitTensors], Value: int32(total)})
		meta = nil
	}
}

// Index implements driver.Splitter. The format has none.
func (fileFormat) Index([]*schema.Schema, []string) ([]byte, error) {
	return nil, format.ErrUnsupported
}

// Listed implements driver.Splitter.
func (fileFormat) Listed([]byte) ([]string, error) { return nil, format.ErrUnsupported }
