package format

import (
	"errors"
	"io"
	"os"

	"github.com/weightmap/weightmap/internal/source"
)

// Open maps the model file at path and reads its structure. It detects the format by content; the package of
// the format must be imported, or format/all. Nil options work.
//
// If path is a directory, Open opens the first of these in it: model.safetensors.index.json, model.safetensors,
// pytorch_model.bin.index.json, pytorch_model.bin, the only other *.index.json, the only file with the
// extension of a model or the parts of the only split GGUF model, the .tsr files. If there is none, or more than one model,
// the error lists the files. Model.Path is then the path of the file.
func Open(path string, opts *Options) (*Model, error) { return Codec{}.Open(path, opts) }

// OpenBytes opens a model in memory, such as an embedded file. Views alias b, which must not change until
// the model is closed.
func OpenBytes(b []byte, opts *Options) (*Model, error) { return Codec{}.OpenBytes(b, opts) }

// OpenReaderAt opens a model of size bytes behind r, such as an object in a store. It reads the structure now, and the
// bytes of a tensor each time they are used, unless Options.CacheBytes keeps them. View.Slice and
// View.ReadAt read only the bytes they return. Package format/remote has a reader for HTTP.
// A nil r is fs.ErrInvalid. ReadAt must not close the model, since Close waits for it.
//
// These methods of r, if it has them, are used as well:
//
//	Path() string                                             the name of the file in errors, and for a tensor without a name; Model.Path stays ""
//	Proven() int64                                            the size that is known to exist, so that it need not be probed
//	Parsed()                                                  called after the structure was read, to end reading ahead
//	Cancel()                                                  called once, when the model is closed or opening failed
//	Sibling(name string) (io.ReaderAt, int64, error)          opens another file of the model, unless Options.Dir is set
//	ReadAtContext(context.Context, []byte, int64) (int, error)  lets Model.Verify and View.ReadIntoContext cancel reads
func OpenReaderAt(r io.ReaderAt, size int64, opts *Options) (*Model, error) {
	return Codec{}.OpenReaderAt(r, size, opts)
}

// OpenFile maps size bytes at offset off of an open file, such as an uncompressed asset in an Android package. A size
// of -1 means up to the end. Offsets in the model and its errors count from off. The caller may close f
// afterwards. A nil f is fs.ErrInvalid.
func OpenFile(f *os.File, off, size int64, opts *Options) (*Model, error) {
	return Codec{}.OpenFile(f, off, size, opts)
}

// isDir tells whether a path could not be mapped because it is a directory. It
// is asked only after mapping failed, which spares the usual open a system call.
func isDir(path string, err error) bool {
	if !errors.Is(err, source.ErrNotRegular) {
		return false
	}
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
