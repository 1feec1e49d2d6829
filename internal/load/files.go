package load

import "slices"

// Files returns the paths of all files that the model has or names, its own or its
// directory first, each once; nil for a model that was not opened by path.
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
