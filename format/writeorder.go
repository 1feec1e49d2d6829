package format

import (
	"iter"
	"slices"
)

// Order iterates over the names of the schema's tensors in the order in which WriteTensor needs no
// temporary copy of any: that of their data in the file. Written in this order, a file comes to be
// from front to back.
func (w *Writer) Order() iter.Seq[string] {
	w.mu.Lock()
	order := slices.Clone(w.order)
	w.mu.Unlock()
	return func(yield func(string) bool) {
		for _, i := range order {
			if !yield(w.schema.Tensors[i].Name) {
				return
			}
		}
	}
}

// Size returns the size in bytes of the file being written, as soon as the Writer was made: a
// program that uploads it can tell the size before the first byte. If it is known, nothing is
// written before the first tensor. It reports false if the size depends on the data, because of
// compression, for example, for a model in several files, and for MLE and WIA, which lay out a file
// as they write it.
func (w *Writer) Size() (n int64, ok bool) {
	l := w.layout
	if l == nil || l.Encode != nil || l.Files != nil || l.External != nil {
		return 0, false
	}
	return l.Size, true
}
