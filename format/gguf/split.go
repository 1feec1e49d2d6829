package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// split is what the metadata of a file say of the model that it is a part of.
type split struct{ no, count, tensors located }

// located is an integer of the metadata, and where it is: -1 where the metadata have none.
type located struct{ value, at int64 }

var noSplit = split{located{-1, -1}, located{-1, -1}, located{-1, -1}}

// note takes an entry that is about splitting; the first of a key counts.
func (s *split) note(e *entry) error {
	var n *located
	switch string(e.key) {
	case keySplitNo:
		n = &s.no
	case keySplitCount:
		n = &s.count
	case keySplitTensors:
		n = &s.tensors
	}
	if n == nil || n.at >= 0 {
		return nil
	}
	v, ok := e.neutral().(int64)
	if !ok || v < 0 || v > math.MaxInt32 {
		return wire.Errorf(formatName, "metadata value", int64(e.at), format.ErrCorrupt, "no integer of 0 to 2^31-1")
	}
	*n = located{v, int64(e.at)}
	return nil
}

// isSplitKey reports whether a key is about the files and not about the model.
func isSplitKey(key string) bool {
	return key == keySplitNo || key == keySplitCount || key == keySplitTensors
}

// splitPath takes the name of a part apart: "m-00001-of-00003.gguf" is part 1 of
// 3 with the stem "m".
func splitPath(path string) (stem string, no, count int64, ok bool) {
	const tail = "-00001-of-00003" + extension
	name := filepath.Base(path)
	at := len(name) - len(tail)
	if at <= 0 || !strings.HasSuffix(name, extension) {
		return "", 0, 0, false
	}
	no, ok1 := digits(name[at+1 : at+6])
	count, ok2 := digits(name[at+10 : at+15])
	return name[:at], no, count, ok1 && ok2 && name[at] == '-' && name[at+6:at+10] == "-of-"
}

func digits(s string) (n int64, ok bool) {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// join opens the other parts of a split model if the file is the first of them.
func (f *parsed) join(o *driver.Options) error {
	s := f.parts[0].split
	if s.count.value < 2 {
		if s.no.value > 0 {
			return wire.Errorf(formatName, keySplitNo, s.no.at, format.ErrCorrupt, "%d, but there is one part", s.no.value)
		}
		return f.checkTotal()
	}
	switch {
	case s.no.at < 0:
		return wire.Errorf(formatName, keySplitNo, s.count.at, format.ErrCorrupt, "missing beside %s", keySplitCount)
	case s.tensors.at < 0:
		return wire.Errorf(formatName, keySplitTensors, s.count.at, format.ErrCorrupt, "missing beside %s", keySplitCount)
	case s.no.value >= s.count.value:
		return wire.Errorf(formatName, keySplitNo, s.no.at, format.ErrCorrupt, "%d of %d parts", s.no.value, s.count.value)
	}
	src := f.parts[0].src
	path := src.Path()
	if f, ok := src.(interface{ Name() string }); ok && path == "" {
		path = f.Name() // of a reader that knows the files next to it
	}
	stem, no, count, named := splitPath(path)
	if named && count != s.count.value {
		return wire.Errorf(formatName, keySplitCount, s.count.at, format.ErrCorrupt, "%d parts, the name of the file says %d", s.count.value, count)
	}
	if named && no != s.no.value+1 {
		return wire.Errorf(formatName, keySplitNo, s.no.at, format.ErrCorrupt, "part %d, counted from 0, the name of the file says %d, counted from 1", s.no.value, no)
	}
	if !named || s.no.value > 0 {
		f.alone = fmt.Sprintf("part %d of %d of a split model, opened alone: the first part, by its name, opens all", s.no.value+1, s.count.value)
		return nil
	}
	dir, err := src.Dir()
	if err != nil {
		return wire.Error(formatName, keySplitCount, s.count.at, err)
	}
	for i := int64(1); i < count; i++ {
		if err := o.Context.Err(); err != nil {
			return err
		}
		if err := f.addPart(dir, fmt.Sprintf("%s-%05d-of-%05d%s", stem, i+1, count, extension), i, o); err != nil {
			return err
		}
	}
	return f.checkTotal()
}

// addPart opens part i, counted from 0.
func (f *parsed) addPart(dir driver.Dir, name string, i int64, o *driver.Options) error {
	first := f.parts[0].split
	src, space, err := dir.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", format.ErrTruncated, err)
		}
		return wire.Error(formatName, keySplitCount, first.count.at, fmt.Errorf("part %d of %d: %w", i+1, first.count.value, err))
	}
	err = f.add(src, space, o)
	if err == nil {
		s := f.parts[i].split
		switch {
		case s.no.value != i:
			err = wire.Errorf(formatName, keySplitNo, max(0, s.no.at), format.ErrCorrupt, "%d instead of %d", s.no.value, i)
		case s.count.at >= 0 && s.count.value != first.count.value:
			err = wire.Errorf(formatName, keySplitCount, s.count.at, format.ErrCorrupt, "%d, the first part has %d", s.count.value, first.count.value)
		case s.tensors.at >= 0 && s.tensors.value != first.tensors.value:
			err = wire.Errorf(formatName, keySplitTensors, s.tensors.at, format.ErrCorrupt, "%d, the first part has %d", s.tensors.value, first.tensors.value)
		}
	}
	return wire.InFile(err, src.Path())
}

// checkTotal compares the number of tensors of all parts with what the first says.
func (f *parsed) checkTotal() error {
	s, n := f.parts[0].split.tensors, int64(f.index.Len())
	if s.at >= 0 && s.value != n {
		return wire.Errorf(formatName, keySplitTensors, s.at, format.ErrCorrupt, "%d, there are %d", s.value, n)
	}
	return nil
}
