package mag

import (
	"errors"
	"io"
	"os"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/catalog"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
)

// File is an open .mag file of either container. Its methods are safe for
// concurrent use. Tensor, Tensors, Len, Pin, Prefetch and Close are those of
// format.Model; At(i) is tensor i in file order.
type File struct {
	*catalog.Catalog
	end     int64    // of the structural part: header and records
	dataEnd int64    // of the last tensor data
	form    sumForm  // of version 1's checksum, when it was checked
	digests []uint64 // by tensor; nil when the file has none
	taken   []uint8  // by tensor: what the metadata hold under the digest key
	meta    []byte   // ordinary metadata records, back to back
	entries int      // number of records in meta
	stamp   uint64   // snapshot: Unix seconds
}

var (
	_ format.Model      = (*File)(nil)
	_ format.Noter      = (*File)(nil)
	_ format.Prefetcher = (*File)(nil)
)

// Open maps the file at path and reads its structure. Nil options work.
func Open(path string, o *format.Options) (*File, error) {
	return format.As[*File](codec.Open(path, o))
}

// OpenBytes reads a file from memory, which must not change while it is open.
func OpenBytes(b []byte, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenBytes(b, o))
}

// OpenReaderAt reads a file of size bytes through r, fetching tensors when they
// are asked for. The size of the structural part is not stored anywhere, so
// 32 KiB are fetched first, and twice as much each time that was too little.
func OpenReaderAt(r io.ReaderAt, size int64, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenReaderAt(r, size, o))
}

// OpenFile maps size bytes at off of an open file; size -1 means to the end.
func OpenFile(f *os.File, off, size int64, o *format.Options) (*File, error) {
	return format.As[*File](codec.OpenFile(f, off, size, o))
}

// parse reads the structure of either container.
func parse(r *mapped.Region, o *format.Options) (*File, error) {
	head, err := r.Prefix(snapHeader + int64(len(markerPool)))
	if err != nil {
		return nil, err
	}
	c := wire.NewCursor(formatName, head, 0)
	if m := c.Bytes("magic", uint64(len(magic))); c.Err() == nil && string(m) != magic {
		return nil, wire.Errorf(formatName, "magic", 0, format.ErrMagic, "% x instead of %q", m, magic)
	}
	version := c.U32("version")
	if c.Err() != nil {
		return nil, c.Err()
	}
	switch version {
	case wordV1:
		return parseV1(r, head, o)
	case wordSnapshot:
		c.Seek("string pool", snapHeader)
		if m := c.Bytes("string pool", uint64(len(markerPool))); c.Err() == nil && string(m) != markerPool {
			return nil, wire.Errorf(formatName, "version", 4, format.ErrVersion,
				"100 without %q at byte 32: a development build wrote this, and its dtype codes are ambiguous", markerPool)
		}
		if c.Err() != nil {
			return nil, c.Err()
		}
		return parseSnapshot(r, head, o)
	}
	return nil, wire.Errorf(formatName, "version", 4, format.ErrVersion, "%d; known are 1 and 100 (0.1.0)", version)
}

// grow calls measure with longer and longer beginnings of the file until one
// holds the whole structural part: at once for memory, from 32 KiB on for a
// reader. It returns that beginning. The counts in the header have been compared
// with the size of the file before.
func grow(r *mapped.Region, o *format.Options, measure func(b []byte) error) ([]byte, error) {
	most := min(r.Size(), o.MaxHeaderBytes)
	window := most
	if !r.InMemory() {
		window = min(most, initialWindow)
	}
	for {
		b, err := r.Prefix(window)
		if err != nil {
			return nil, err
		}
		err = measure(b)
		switch {
		case err == nil:
			return b, nil
		case window == r.Size() || !errors.Is(err, format.ErrTruncated):
			return nil, err
		case window == most:
			return nil, wire.Errorf(formatName, "header", -1, format.ErrLimit, "header and records are larger than %d bytes", most)
		}
		window = min(2*window, most)
	}
}

// checkCount compares the number of tensors in the header with the limit, and
// the least number of bytes that all records take with the size of the file.
func checkCount(field string, at int64, n uint32, least uint64, r *mapped.Region, o *format.Options) error {
	if uint64(n) > uint64(o.MaxTensors) {
		return wire.Errorf(formatName, field, at, format.ErrLimit, "%d tensors, at most %d are allowed", n, o.MaxTensors)
	}
	if least > uint64(r.Size()) {
		return wire.Errorf(formatName, field, at, format.ErrTruncated, "%d tensors, with all else, take at least %d bytes; the file has %d", n, least, r.Size())
	}
	return nil
}

// Snapshot reports whether the file is a snapshot container, not version 1.
func (f *File) Snapshot() bool { return f.Version() == versionSnapshot }

// Timestamp returns when a snapshot was written, in Unix seconds as stored; 0
// for version 1, which has none.
func (f *File) Timestamp() uint64 { return f.stamp }

// Notes lists what is tolerable but worth knowing about the file.
func (f *File) Notes() []string {
	var notes []string
	if n := f.form.note(); n != "" {
		notes = append(notes, n)
	}
	end, _ := wire.AlignUp(f.dataEnd, dataAlign)
	if f.Len() == 0 {
		end = f.end
	}
	if n := f.Region().Size() - end; n > 0 && !f.Snapshot() {
		notes = append(notes, plural(n, "byte follows", "bytes follow")+" the last tensor")
	}
	missing, misaligned := 0, 0
	for i := range f.Len() {
		if !f.hasDigest(i) {
			missing++
		}
		if t := f.Info(i); t.Offset%t.DType.Size() != 0 {
			misaligned++
		}
	}
	if missing > 0 {
		notes = append(notes, plural(int64(missing), "tensor has", "tensors have")+" no digest: the data cannot be checked")
	}
	if misaligned > 0 {
		notes = append(notes, plural(int64(misaligned), "tensor is", "tensors are")+" not aligned: views are copies")
	}
	return notes
}
