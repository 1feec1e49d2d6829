package load

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/format/driver"
)

// FileTrust is what Config.Trusted may be instead of a public key: it decides about models of any format by
// all bytes of all their files.
type FileTrust interface {
	// Recording is asked once for each model. It may be asked by several goroutines.
	Recording() Recording
}

// Recording checks the files of a model when they were parsed. There is one
// implementation, and it is an interface so that programs without a FileTrust do not link that.
type Recording interface {
	check(v *verification) error
}

// NewRecording returns a Recording at the end of which check is given the path of the model, "" without one, and its
// files. Without an error what is open is what their bytes were.
func NewRecording(check func(ctx context.Context, path string, m *OpenModel) error) Recording {
	return recording(check)
}

type recording func(ctx context.Context, path string, m *OpenModel) error

func (check recording) check(v *verification) error { return check(v.ctx, v.m.Path(), &OpenModel{v}) }

// OpenModel is a model that is being opened.
type OpenModel struct{ v *verification }

// OpenFile is a file of it.
type OpenFile struct {
	Path  string // "" for bytes and readers
	Size  int64
	space driver.Space
}

// Files returns all files of the model that are there.
func (o *OpenModel) Files() (files []OpenFile) {
	m := o.v.m
	if !m.isDir {
		files = append(files, OpenFile{Path: m.Path(), Size: m.main.Size()})
	}
	for _, f := range m.spaces.files {
		if r := f.region.Load(); r != nil {
			files = append(files, OpenFile{f.path(), r.Size(), f.number})
		}
	}
	return files
}

// Feed writes size bytes at off of a file to w: what was read of them when they were parsed, and of
// others what is mapped. It is safe for concurrent use.
func (o *OpenModel) Feed(w io.Writer, f *OpenFile, off, size int64) error {
	return o.v.Feed(w, f.space, off, size, "")
}
