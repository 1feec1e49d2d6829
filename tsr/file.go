package tsr

import (
	"github.com/weightmap/weightmap/format"
)

// File is an open TSR file with one tensor, or an open directory of such files.
// For a directory, Notes lists the entries that are not .tsr files. The format
// has no checksums: Verify finds only headers that changed and files that were
// truncated since they were opened, and its Coverage says so.
type File struct{ *format.Model }

// Open maps the TSR file at path. If path is a directory, Open reads the header
// of every .tsr file in it; each file is mapped when its tensor is first used.
// If a file is replaced or changed before that, using its tensor fails with
// format.ErrCorrupt, or format.ErrTruncated if the file is now too short.
// Prefetch maps all remaining files.
//
// Nil options work. Errors are of type *tensor.Error, with the field and its
// offset in the file, or wrap those of package os.
func Open(path string, o *format.Options) (*File, error) {
	m, err := format.Open(path, o.With(Format{}))
	if err != nil {
		return nil, err
	}
	return &File{m}, nil
}

// From returns m as a File: one that was opened from memory (format.OpenBytes), a reader or a
// descriptor, for example. It reports false if m has another format.
func From(m *format.Model) (*File, bool) {
	_, ok := m.Own().(fileFormat)
	if !ok {
		return nil, false
	}
	return &File{m}, true
}
