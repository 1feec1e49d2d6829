package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/shardname"
	"github.com/weightmap/weightmap/internal/wire"
)

// join opens the other parts of a split model if the file is the first of them.
func (p *parser) join() error {
	f := p.f
	first := &f.parts[0]
	no := first.said[splitNo]
	count := first.said[splitCount]
	if count.value < 2 {
		if no.value > 0 {
			return errorf(splitNo, no.at, "%d, but there is one part", no.value)
		}
		return f.checkTotal()
	}
	stem, namedNo, namedCount, named := shardname.Split(filepath.Base(first.src.Path()), extension)
	switch {
	case no.at == 0:
		return errorf(splitNo, count.at, "missing beside %s", fileKeys[splitCount])
	case first.said[splitTensors].at == 0:
		return errorf(splitTensors, count.at, "missing beside %s", fileKeys[splitCount])
	case no.value >= count.value:
		return errorf(splitNo, no.at, "%d of %d parts", no.value, count.value)
	case named && namedCount != int(count.value):
		return errorf(splitCount, count.at, "%d parts, the name of the file says %d", count.value,
			namedCount)
	case named && namedNo != int(no.value)+1:
		return errorf(splitNo, no.at,
			"part %d, counted from 0, the name of the file says %d, counted from 1", no.value, namedNo)
	}
	f.count = int(count.value)
	if !named || no.value > 0 {
		f.no = int(no.value) + 1
		return nil
	}
	err := p.readParts(stem)
	if err != nil {
		return err
	}
	return f.checkTotal()
}

// readParts reads the parts after the first, which are called like it.
func (p *parser) readParts(stem string) error {
	dir, err := p.f.parts[0].src.Dir()
	if err != nil {
		return wire.Error(formatName, fileKeys[splitCount], p.f.parts[0].said[splitCount].at, err)
	}
	count := p.f.count
	for i := 1; i < count; i++ {
		if i%expected == 1 {
			dir.Expect(partNames(stem, i, count))
		}
		err := p.opts.Context.Err()
		if err != nil {
			return err
		}
		err = p.readPart(dir, shardname.Name(stem, i+1, count, extension), i)
		if err != nil {
			return err
		}
	}
	return nil
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

// readPart reads part i, counted from 0.
func (p *parser) readPart(dir driver.Dir, name string, i int) error {
	count := &p.f.parts[0].said[splitCount]
	src, space, err := dir.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", format.ErrTruncated, err)
	}
	if err != nil {
		err = fmt.Errorf("part %d of %d: %w", i+1, count.value, err)
		return wire.Error(formatName, fileKeys[splitCount], count.at, err)
	}
	err = p.readFile(src, space)
	if err != nil {
		return wire.Place(err, "", src.Path(), "")
	}
	return wire.Place(p.f.comparePart(i), "", src.Path(), "")
}

// comparePart compares what part i says about the model with the first part.
func (f *parsed) comparePart(i int) error {
	first := &f.parts[0].said
	said := &f.parts[i].said
	no := said[splitNo]
	if no.value != int64(i) {
		return errorf(splitNo, no.at, "%d instead of %d", no.value, i)
	}
	for _, key := range []int{splitCount, splitTensors} {
		if said[key].at > 0 && said[key].value != first[key].value {
			return errorf(key, said[key].at, "%d, the first part has %d", said[key].value, first[key].value)
		}
	}
	return nil
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
		p.Metadata = append(slices.Clip(meta),
			schema.Entry{Key: fileKeys[splitNo], Value: uint16(i)},
			schema.Entry{Key: fileKeys[splitCount], Value: uint16(len(parts))},
			schema.Entry{Key: fileKeys[splitTensors], Value: int32(total)})
		meta = nil
	}
}

// Index implements driver.Splitter. The format has none.
func (fileFormat) Index([]*schema.Schema, []string) ([]byte, error) {
	return nil, format.ErrUnsupported
}

// Listed implements driver.Splitter.
func (fileFormat) Listed([]byte) ([]string, error) { return nil, format.ErrUnsupported }
