package format

import (
	"errors"
	"io"
	"os"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
)

// Open maps the model file at path and reads its structure; the format is
// detected by content. Nil options work. The formats must be registered: import
// weightmap/format/all, or the format packages wanted.
//
// A directory is opened by the first that it has: model.safetensors.index.json, model.safetensors,
// pytorch_model.bin.index.json, pytorch_model.bin, one other file *.index.json, one file that is named
// like a model or the parts of one split GGUF model, and .tsr files. With none of these, or
// several, the error lists what is there. Model.Path then names the file.
func Open(path string, opts *Options) (*Model, error) { return openPath(nil, path, opts) }

// OpenBytes reads a model from memory, for go:embed and network buffers. The
// bytes must not change while the model is in use.
func OpenBytes(b []byte, opts *Options) (*Model, error) { return openBytes(nil, b, opts) }

// OpenReaderAt reads a model of size bytes through r, without mapping: object
// storage, network disks. Tensors are fetched when their bytes are asked for,
// and every time they are, unless Options.CacheBytes keeps them. Slices and
// View.ReadAt fetch only their own bytes. Package format/remote has a reader of what is
// behind HTTP. A nil r is fs.ErrInvalid. Reads must not close the model, which waits for them.
//
// A reader with a method Path() string is called so in errors, and has no path all the same (Model.Path).
// Of one with Proven() int64 so many bytes are believed to exist. One with
// Parsed() is told when the structure was read, from where on reading ahead is a waste; and one with Cancel()
// once when the model is closed, whether opening failed or by Close, which waits for the reads that are running. One with
// Sibling(name string) (io.ReaderAt, int64, error) opens the other files of the model, by their paths from the
// directory of this one; it is asked where Options.Dir is not set. With ReadAtContext, which is ReadAt that ends with a context, Model.Verify and View.ReadIntoContext end reads with theirs.
func OpenReaderAt(r io.ReaderAt, size int64, opts *Options) (*Model, error) {
	return openReaderAt(nil, r, size, opts)
}

// OpenFile maps size bytes at off of an open file, such as an uncompressed
// asset in an Android package; size -1 means to the end. f may be closed
// afterwards, and nil is fs.ErrInvalid. Offsets in the model count from off.
func OpenFile(f *os.File, off, size int64, opts *Options) (*Model, error) {
	return openFile(nil, f, off, size, opts)
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

// choose returns the driver that the options force or the content shows.
func choose(r *source.Region, path, format string) (driver.Driver, error) {
	if format != "" {
		c, err := Lookup(format)
		return c.d, err
	}
	head, err := r.Head(driver.SniffLen)
	if err != nil {
		return nil, err
	}
	if d := detect(head, r.Size(), path); d != nil {
		return d, nil
	}
	return nil, unknown(head, path)
}
