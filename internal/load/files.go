package load

import "slices"

// Files returns the paths of all files that belong to the model, beginning with its own
// file or directory, without duplicates. It returns nil for a model not opened by path.
func (m *Model) Files() []string {
	if !m.byPath {
		return nil
	}
	files := make([]string, 1, 1+len(m.spaces.files))
	files[0] = m.path
	for _, f := range m.spaces.files {
		files = append(files, f.path())
	}
	slices.Sort(files[1:])
	return slices.Compact(files)
}
