package torch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// lister walks the object of a pickle and lists tensors and metadata by their paths.
type lister struct {
	*reading
	stored int64 // bytes of the pickle
	at     int64 // offset of the pickle, for errors

	path    []byte
	within  map[any]bool // the containers on the path to the current value
	visits  int64
	named   int64 // bytes of names so far
	skipped []skip
}

// skip counts the ignored values of one kind.
type skip struct {
	kind  string
	first string // path of the first one
	n     int
}

// list lists the tensors and metadata in v, the object of a pickle of stored bytes at offset at.
func (r *reading) list(v any, at, stored int64) error {
	l := &lister{reading: r, at: at, stored: stored, within: make(map[any]bool)}
	err := l.list(v)
	for _, s := range l.skipped {
		r.notes = append(r.notes, fmt.Sprintf("not shown: %d of type %s, the first at %s", s.n, s.kind, clip(s.first)))
	}
	return err
}

// rootName returns the name of a tensor that is the whole object: the file's name without its
// extension.
func rootName(path string) string {
	s := filepath.Base(path)
	s = strings.TrimSuffix(s, filepath.Ext(s))
	if path == "" || tensor.CheckName(s) != nil {
		return "tensor"
	}
	return s
}

func (l *lister) errorf(sentinel error, text string, args ...any) error {
	return wire.Errorf("", "pickle", l.at, sentinel, text, args...)
}

// list walks v, which is at l.path. A pickle may refer to a value many times, so the number of
// paths is limited.
func (l *lister) list(v any) error {
	if l.visits++; l.visits > 1<<16+l.stored {
		return l.errorf(format.ErrLimit, "its values are reached by more than %d paths", l.visits-1)
	}
	switch v := v.(type) {
	case *rebuilt:
		return l.tensor(v)
	case string, bool, int64, float64:
		name, err := l.name()
		if err == nil {
			l.meta = append(l.meta, driver.Entry{Key: name, Value: v})
		}
		return err
	case tuple:
		return l.items(v)
	case *list, *dict:
		if l.within[v] {
			return l.errorf(format.ErrCorrupt, "%s contains itself", clip(string(l.path)))
		}
		l.within[v] = true
		defer delete(l.within, v)
		if d, ok := v.(*dict); ok {
			return l.entries(d.items)
		}
		return l.items(v.(*list).items)
	}
	l.skip(kindOf(v))
	return nil
}

// items walks the elements of a list, named by position.
func (l *lister) items(items []any) error {
	for i, v := range items {
		if err := l.below(strconv.Itoa(i), v); err != nil {
			return err
		}
	}
	return nil
}

// entries walks the values of a dict.
func (l *lister) entries(items []any) error {
	for i := 0; i < len(items); i += 2 {
		var key string
		switch k := items[i].(type) {
		case string:
			key = k
		case int64:
			key = strconv.FormatInt(k, 10)
		default:
			l.skip("value with a key of type " + kindOf(k))
			continue
		}
		if err := l.below(key, items[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// below walks the value v, which is at key in the current one.
func (l *lister) below(key string, v any) error {
	n := len(l.path)
	if len(l.within) > maxDepth || n+len(key) > maxName {
		return l.errorf(format.ErrLimit, "values are nested deeper than %d, or have names longer than %d bytes", maxDepth, maxName)
	}
	if n > 0 {
		l.path = append(l.path, '.')
	}
	l.path = append(l.path, key...)
	err := l.list(v)
	l.path = l.path[:n]
	return err
}

// name returns the current path as a name. The total size of names is limited.
func (l *lister) name() (string, error) {
	name := string(l.path)
	if name == "" {
		name = rootName(l.src.Path())
	}
	const floor, ratio = 16 << 20, 16
	if l.named += int64(len(name)) + objectBytes; l.named > floor+ratio*l.stored {
		return "", l.errorf(format.ErrLimit, "its names have more than %d bytes", l.named-1)
	}
	if err := tensor.CheckName(name); err != nil {
		return "", l.errorf(format.ErrCorrupt, "%w", err)
	}
	return name, nil
}

func (l *lister) skip(kind string) {
	i := slices.IndexFunc(l.skipped, func(s skip) bool { return s.kind == kind })
	if i < 0 {
		if len(l.skipped) == mostSkipped {
			return
		}
		i = len(l.skipped)
		l.skipped = append(l.skipped, skip{kind: kind, first: string(l.path)})
	}
	l.skipped[i].n++
}

// mostSkipped limits the number of kinds that notes name.
const mostSkipped = 16

// tensor lists a tensor at the current path.
func (l *lister) tensor(t *rebuilt) error {
	name, err := l.name()
	if err != nil {
		return err
	}
	s := t.storage
	i, ok := l.byKey[s.key]
	if !ok {
		return l.errorf(format.ErrCorrupt, "tensor %s is in storage %s, which is missing", clip(name), clip(s.key))
	}
	e := &l.stores[i]
	if s.count > 0 && (s.first > e.Size/s.elem.size || s.count > e.Size/s.elem.size-s.first) {
		return l.errorf(format.ErrTruncated, "storage %s has %d bytes, %d elements of %d bytes from %d on are in it", clip(s.key), e.Size, s.count, s.elem.size, s.first)
	}
	p := place{store: i, elem: t.elem}
	if t.size > 0 {
		p.from, p.extent = s.first*s.elem.size+t.offset*t.elem.size, t.extent*t.elem.size
		if !t.contiguous() {
			p.stride = t.stride
		}
	}
	out := driver.Tensor{Name: []byte(name), DType: t.elem.dtype, Encoding: t.elem.enc, Shape: t.shape, Space: l.space, Size: t.size, Offset: e.At + p.from}
	if e.Packed {
		out.Compression, out.Stored = "deflate", e.Stored
	}
	if e.Packed || p.stride != nil || l.big && t.elem.word > 1 && t.size > 0 {
		out.Loaded, out.Offset = true, -1
	}
	if l.x.Add(&out) != nil {
		return l.errorf(format.ErrUnsupported, "two tensors have the name %s", clip(name))
	}
	l.places = append(l.places, p)
	return nil
}
