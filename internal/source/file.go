package source

import (
	"io"
	"io/fs"
	"os"
)

// FromFile returns a region of an open regular file of a file system: an *os.File is mapped, a file that is an io.ReaderAt
// is read on demand, and any other is read into memory. name is the name of the file in errors. FromFile takes
// ownership of f, even when it fails.
func FromFile(f fs.File, info fs.FileInfo, name string, o Options) (*Region, error) {
	if own, ok := f.(*os.File); ok {
		defer own.Close()
		return OpenFile(own, 0, toEnd, o)
	}
	reader, ok := f.(io.ReaderAt)
	if ok {
		r := FromReaderAt(&openFile{reader, f, name}, info.Size())
		r.stamp = StampOf(info)
		return r, nil
	}
	defer f.Close()
	if o.Memory != nil {
		err := o.Memory.Reserve(info.Size())
		if err != nil {
			return nil, err
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, info.Size())) // which grows with what is there
	if err != nil {
		return nil, err
	}
	r := FromBytes(b)
	r.path, r.stamp = name, StampOf(info)
	return r, nil
}

// openFile is a file that is read on demand until the region is closed.
type openFile struct {
	io.ReaderAt
	file fs.File
	name string
}

func (f *openFile) Path() string { return f.name }

func (f *openFile) Cancel() { f.file.Close() }
