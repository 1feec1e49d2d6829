package load

import (
	"context"
	"io"

	"github.com/weightmap/weightmap/format/driver"
)

// FileTrust may be used for Config.Trusted in place of a public key. It accepts or rejects models of any format by
// the bytes of all their files.
type FileTrust interface {
	// Recording is called once for each model. It may be called concurrently.
	Recording() Recording
}

// Recording checks the files of a model after they are parsed. It is an interface so that
// programs without a FileTrust do not link its one implementation.
type Recording interface {
	check(v *verification) error
}

// NewRecording returns a Recording that calls check with the path of the model, or "", and its files. If check returns
// no error, the model is exactly the bytes that check has read.
func NewRecording(check func(ctx context.Context, path string, m *OpenModel) error) Recording {
	return recording(check)
}

type recording func(ctx context.Context, path string, m *OpenModel) error

func (check recording) check(v *verification) error { return check(v.ctx, v.m.Path(), &OpenModel{v}) }

// OpenModel is a model that is being opened.
type OpenModel struct{ v *verification }

// OpenFile is a file of an OpenModel.
type OpenFile struct {
	Path  string // "" for bytes and readers
	Size  int64
	space driver.Space
}

// Files returns all existing files of the model.
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

// Feed writes size bytes at off of a file to w: those that parsing has read from memory, and the others
// from the mapping. It is safe for concurrent use.
func (o *OpenModel) Feed(w io.Writer, f *OpenFile, off, size int64) error {
	return o.v.Feed(w, f.space, off, size, "")
}
