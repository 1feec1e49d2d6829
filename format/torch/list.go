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

// skip counts the ignored values of one kind.
type skip struct {
	kind  string
	first string // path of the first one
	n     int
}

// list lists the tensors and metadata in v, the object of the pickle.
func (r *reading) list(v any) error {
	r.within = make(map[any]bool)
	err := r.value(v)
	for _, s := range r.skipped {
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
	return wire.Errorf("", "pickle", r.object, sentinel, text, args...)
}

// value lists v, which is at the current path. A pickle may refer to a value many times, so the number of
// paths is limited.
func (r *reading) value(v any) error {
	if r.visits++; r.visits > 1<<16+r.stored {
		return r.errorf(format.ErrLimit, "its values are reached by more than %d paths", r.visits-1)
	}
	switch v := v.(type) {
	case *rebuilt:
		return r.tensor(v)
	case string:
		if err := r.o.Memory.Reserve(int64(len(v))); err != nil {
			return r.errorf(format.ErrLimit, "a text: %w", err)
		}
		return r.entry(v)
	case bool, int64, float64:
		return r.entry(v)
	case tuple:
		return r.items(v, 1)
	case *list:
		return r.inside(v, v.items, 1)
	case *dict:
		return r.inside(v, v.items, 2)
	}
	r.skip(kindOf(v))
	return nil
}

// entry adds a value to the metadata.
func (r *reading) entry(v any) error {
	name, err := r.name()
	if err != nil {
		return err
	}
	r.meta = append(r.meta, plan.Entry{Key: name, Value: v})
	return nil
}

// nameBytes is the memory of an entry of the metadata, without its texts.
const nameBytes = 2*32 + 8

// inside lists the items of a list or dict.
func (r *reading) inside(container any, items []any, step int) error {
	if r.within[container] {
		return r.errorf(format.ErrCorrupt, "%.200q contains itself", r.path)
	}
	r.within[container] = true
	defer delete(r.within, container)
	return r.items(items, step)
}

// items lists values that are named by their position or, with a step of 2, by the keys before them.
func (r *reading) items(items []any, step int) error {
	n := len(r.path)
	for i := 0; i < len(items); i += step {
		key := any(int64(i))
		if step == 2 {
			key = items[i]
		}
		var text string
		switch k := key.(type) {
		case string:
			text = k
		case int64:
			text = strconv.FormatInt(k, 10)
		default:
			r.skip("value with a key of type " + kindOf(k))
			continue
		}
		if len(r.within) > maxDepth || n+len(text) > maxName {
			return r.errorf(format.ErrLimit, "values are nested deeper than %d, or have names longer than %d bytes", maxDepth, maxName)
		}
		if n > 0 {
			r.path = append(r.path, '.')
		}
		r.path = append(r.path, text...)
		if err := r.value(items[i+step-1]); err != nil {
			return err
		}
		r.path = r.path[:n]
	}
	return nil
}

// name returns the current path as a name. The total size of names is limited.
func (r *reading) name() (string, error) {
	name := string(r.path)
	if name == "" {
		name = rootName(r.Src.Path())
	}
	const floor, ratio = 16 << 20, 16
	size := int64(len(name)) + nameBytes
	r.named += size
	if r.named > floor+ratio*r.stored {
		return "", r.errorf(format.ErrLimit, "its names have more than %d bytes", r.named-1)
	}
	if err := r.o.Memory.Reserve(size); err != nil {
		return "", r.errorf(format.ErrLimit, "its names: %w", err)
	}
	if err := tensor.CheckName(name); err != nil {
		return "", r.errorf(format.ErrCorrupt, "%w", err)
	}
	return name, nil
}

// mostSkipped limits the number of kinds that notes name.
const mostSkipped = 16

// skip counts an ignored value.
func (r *reading) skip(kind string) {
	i := slices.IndexFunc(r.skipped, func(s skip) bool { return s.kind == kind })
	switch {
	case i >= 0:
		r.skipped[i].n++
	case len(r.skipped) < mostSkipped:
		r.skipped = append(r.skipped, skip{kind, string(r.path), 1})
	}
}

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
		p.From = s.first*s.elem.size + t.offset*t.elem.size
		p.Extent = t.extent * t.elem.size
		p.Stride = t.stride
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
