package format

import (
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/tensor"
)

// keepNote adds a note, once, unless it is empty.
func (m *Model) keepNote(note string) {
	m.found.Lock()
	defer m.found.Unlock()
	if note != "" && !slices.Contains(m.found.notes, note) {
		m.found.notes = append(m.found.notes, note)
	}
}

// foundNotes returns the notes that keepNote added.
func (m *Model) foundNotes() []string {
	m.found.Lock()
	defer m.found.Unlock()
	return slices.Clone(m.found.notes)
}

// engineNotes appends notes that apply to all formats.
func (m *Model) engineNotes(notes []string) []string {
	n := 0
	for i := range m.index.Len() {
		_, off, size := m.index.Place(i)
		if !m.index.Loaded(i) && size > 0 && off%wordSize(m.index.DType(i)) != 0 {
			n++
		}
	}
	if n == 1 {
		notes = append(notes, "1 tensor is not aligned: views are copies")
	} else if n > 1 {
		notes = append(notes, fmt.Sprintf("%d tensors are not aligned: views are copies", n))
	}
	if m.c.options.Private {
		return notes
	}
	for r := range m.regions() {
		switch {
		case r.Path() == "" || r == m.main && m.Path() == "" || r.Size() == 0 || r.Mapped():
			continue
		case r.InMemory():
			return append(notes, "the file is not mapped: it was read into memory")
		}
		return append(notes, "the file is not mapped: it is read on demand")
	}
	return notes
}

// wordSize returns the alignment of elements of d: complex64 consists of two words.
func wordSize(d tensor.DType) int64 {
	if d == tensor.Complex64 {
		return d.Size() / 2
	}
	return max(1, d.Size())
}
