package torch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/plan"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// walk is the state of a walk through the object of a pickle.
type walk struct {
	at, stored int64 // the pickle: its offset, for errors, and its size
	path       []byte
	within     map[any]bool // the containers on the path to the current value
	visits     int64
	named      int64 // bytes of names so far
	skipped    []skip
}

// skip counts the ignored values of one kind.
type skip struct {
	kind  string
	first string // path of the first one
	n     int
}

// list lists the tensors and metadata in v, the object of a pickle of stored bytes at offset at.
func (r *reading) list(v any, at, stored int64) error {
	r.walk = walk{at: at, stored: stored, within: make(map[any]bool)}
	err := r.value(v)
	for _, s := range r.walk.skipped {
		r.notes = append(r.notes, fmt.Sprintf("not shown: %d of type %s, the first at %.200q", s.n, s.kind, s.first))
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

func (r *reading) errorf(sentinel error, text string, args ...any) error {
	return wire.Errorf("", "pickle", r.walk.at, sentinel, text, args...)
}

// value lists v, which is at the current path. A pickle may refer to a value many times, so the number of
// paths is limited.
func (r *reading) value(v any) error {
	if r.walk.visits++; r.walk.visits > 1<<16+r.walk.stored {
		return r.errorf(format.ErrLimit, "its values are reached by more than %d paths", r.walk.visits-1)
	}
	switch v := v.(type) {
	case *rebuilt:
		return r.tensor(v)
	case string, bool, int64, float64:
		name, err := r.name()
		if err == nil {
			r.meta = append(r.meta, plan.Entry{Key: name, Value: v})
		}
		return err
	case tuple:
		return r.items(v)
	case *list, *dict:
		if r.walk.within[v] {
			return r.errorf(format.ErrCorrupt, "%.200q contains itself", r.walk.path)
		}
		r.walk.within[v] = true
		defer delete(r.walk.within, v)
		if d, ok := v.(*dict); ok {
			return r.entries(d.items)
		}
		return r.items(v.(*list).items)
	}
	r.skip(kindOf(v))
	return nil
}

// items walks the elements of a list, named by position.
func (r *reading) items(items []any) error {
	for i, v := range items {
		if err := r.below(strconv.Itoa(i), v); err != nil {
			return err
		}
	}
	return nil
}

// entries walks the values of a dict.
func (r *reading) entries(items []any) error {
	for i := 0; i < len(items); i += 2 {
		var key string
		switch k := items[i].(type) {
		case string:
			key = k
		case int64:
			key = strconv.FormatInt(k, 10)
		default:
			r.skip("value with a key of type " + kindOf(k))
			continue
		}
		if err := r.below(key, items[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// below walks the value v, which is at key in the current one.
func (r *reading) below(key string, v any) error {
	n := len(r.walk.path)
	if len(r.walk.within) > maxDepth || n+len(key) > maxName {
		return r.errorf(format.ErrLimit, "values are nested deeper than %d, or have names longer than %d bytes", maxDepth, maxName)
	}
	if n > 0 {
		r.walk.path = append(r.walk.path, '.')
	}
	r.walk.path = append(r.walk.path, key...)
	err := r.value(v)
	r.walk.path = r.walk.path[:n]
	return err
}

// name returns the current path as a name. The total size of names is limited.
func (r *reading) name() (string, error) {
	name := string(r.walk.path)
	if name == "" {
		name = rootName(r.Src.Path())
	}
	const floor, ratio = 16 << 20, 16
	if r.walk.named += int64(len(name)) + objectBytes; r.walk.named > floor+ratio*r.walk.stored {
		return "", r.errorf(format.ErrLimit, "its names have more than %d bytes", r.walk.named-1)
	}
	if err := tensor.CheckName(name); err != nil {
		return "", r.errorf(format.ErrCorrupt, "%w", err)
	}
	return name, nil
}

func (r *reading) skip(kind string) {
	i := slices.IndexFunc(r.walk.skipped, func(s skip) bool { return s.kind == kind })
	if i < 0 {
		if len(r.walk.skipped) == mostSkipped {
			return
		}
		i = len(r.walk.skipped)
		r.walk.skipped = append(r.walk.skipped, skip{kind: kind, first: string(r.walk.path)})
	}
	r.walk.skipped[i].n++
}

// mostSkipped limits the number of kinds that notes name.
const mostSkipped = 16

// tensor lists a tensor at the current path.
func (r *reading) tensor(t *rebuilt) error {
	name, err := r.name()
	if err != nil {
		return err
	}
	s := t.storage
	i, ok := r.byKey[s.key]
	if !ok {
		return r.errorf(format.ErrCorrupt, "tensor %.200q is in storage %.200q, which is missing", name, s.key)
	}
	e := &r.m.Stores[i]
	if s.count > 0 && (s.first > e.Size/s.elem.size || s.count > e.Size/s.elem.size-s.first) {
		return r.errorf(format.ErrTruncated, "storage %.200q has %d bytes, %d elements of %d bytes from %d on are in it", s.key, e.Size, s.count, s.elem.size, s.first)
	}
	p := zip.Place{Store: i, Elem: int(t.elem.size)}
	if t.size > 0 {
		p.From, p.Extent = s.first*s.elem.size+t.offset*t.elem.size, t.extent*t.elem.size
		if !t.contiguous() {
			p.Stride = t.stride
		}
		if r.big && t.elem.word > 1 {
			p.Swap = t.elem.word
		}
	}
	out := driver.Tensor{Name: []byte(name), DType: t.elem.dtype, Encoding: t.elem.enc, Shape: t.shape, Space: r.Space, Size: t.size}
	e.Locate(&out, &p)
	if r.x.Add(&out) != nil {
		return r.errorf(format.ErrUnsupported, "two tensors have the name %.200q", name)
	}
	r.places = append(r.places, p)
	return nil
}
