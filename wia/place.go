package wia

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// plainPrefix returns all of a Tensor record but its data, for a record that
// comes to lie at off of the payload: a padding field, so that the data begin at
// a multiple of 64, and the message up to its data.
func plainPrefix(t *Tensor, off, size int64) []byte {
	head := t.appendHead(nil)
	head = protowire.AppendTag(head, 4, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(size))
	b := protowire.AppendTag(nil, 1, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(head))+uint64(size))
	b = append(b, head...)
	if size == 0 {
		return b
	}
	gap := -(off + int64(len(b))) & (alignment - 1)
	if gap == 1 {
		gap += alignment // a field takes two bytes at least
	}
	if gap == 0 {
		return b
	}
	padding := putBytes(nil, 15, make([]byte, gap-2))
	return append(padding, b...)
}

// compressedPrefix returns all of a CompressedTensor record but its data.
func compressedPrefix(it *item, stored int64) []byte {
	head := putMessage(nil, 1, &it.message)
	head = putInt(head, 2, int64(it.codec))
	head = putInt(head, 4, it.size)
	head = append(head, it.unknown...)
	head = protowire.AppendTag(head, 3, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(stored))
	b := protowire.AppendTag(nil, 2, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(head))+uint64(stored))
	return append(b, head...)
}

// blockWriter writes the tensor block and hashes it on the way, as long as it
// is written from front to back; the rest is read back in the end.
type blockWriter struct {
	t      sink.Target
	base   int64
	h      hash.Hash
	hashed int64
}

func newBlockWriter(t sink.Target, base int64) *blockWriter {
	return &blockWriter{t: t, base: base, h: sha256.New()}
}

func (w *blockWriter) write(p []byte, off int64) error {
	if off == w.hashed {
		w.h.Write(p)
		w.hashed += int64(len(p))
	}
	_, err := w.t.WriteAt(p, w.base+off)
	return err
}

// sum returns the SHA-256 of the block, which has size bytes.
func (w *blockWriter) sum(ctx context.Context, size int64) (sum [sha256.Size]byte, err error) {
	buf := make([]byte, min(size-w.hashed, work.Step))
	for w.hashed < size {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		p := buf[:min(int64(len(buf)), size-w.hashed)]
		if n, err := w.t.ReadAt(p, w.base+w.hashed); n < len(p) {
			return sum, fmt.Errorf("reading back what was written: %w", err)
		}
		w.h.Write(p)
		w.hashed += int64(len(p))
	}
	w.h.Sum(sum[:0])
	return sum, nil
}

// blob keeps data whose place is not known yet: in memory while they are few,
// else in a temporary file.
type blob struct {
	buf   bytes.Buffer
	spool *sink.Spool
	size  int64
}

const blobMemory = 4 << 20

func (b *blob) Write(p []byte) (int, error) {
	if b.spool == nil && b.size+int64(len(p)) <= blobMemory {
		b.size += int64(len(p))
		return b.buf.Write(p)
	}
	if b.spool == nil {
		s, err := sink.NewSpool()
		if err != nil {
			return 0, err
		}
		b.spool = s
		if _, err := s.WriteAt(b.buf.Bytes(), 0); err != nil {
			return 0, err
		}
		b.buf = bytes.Buffer{}
	}
	n, err := b.spool.WriteAt(p, b.size)
	b.size += int64(n)
	return n, err
}

// each calls f with one piece after the other and its offset.
func (b *blob) each(f func(p []byte, off int64) error) error {
	if b.spool == nil {
		return f(b.buf.Bytes(), 0)
	}
	buf := make([]byte, work.Step)
	for off := int64(0); off < b.size; {
		n, err := b.spool.ReadAt(buf[:min(int64(len(buf)), b.size-off)], off)
		if n == 0 {
			return fmt.Errorf("reading back what was written: %w", err)
		}
		if err := f(buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

func (b *blob) remove() {
	if b.spool != nil {
		b.spool.Remove()
		b.spool = nil
	}
	b.buf = bytes.Buffer{}
}

// externalFile is the file beside the model.
type externalFile struct {
	location string
	path     string
	file     *sink.File // made when the first tensor comes
	end      int64
	done     bool
}

// newExternalFile decides where it will lie.
func newExternalFile(o *WriteOptions) (*externalFile, error) {
	if o.base == "" {
		return nil, fmt.Errorf("%w: only Create knows where the model will lie", tensor.ErrLimit)
	}
	x := &externalFile{location: o.External}
	if x.location == "" {
		x.location = o.base + ".data"
	}
	if err := checkLocation([]byte(x.location)); err != nil {
		return nil, err
	}
	if !utf8.ValidString(x.location) {
		return nil, fmt.Errorf("%w: location %q is not UTF-8", tensor.ErrCorrupt, x.location)
	}
	if strings.HasSuffix(x.location, "/") {
		return nil, fmt.Errorf("%w: location %q names a directory", tensor.ErrCorrupt, x.location)
	}
	x.path = filepath.Join(o.dir, filepath.FromSlash(x.location))
	if x.path == filepath.Join(o.dir, o.base) {
		return nil, fmt.Errorf("%w: location %q is the model itself", tensor.ErrCorrupt, x.location)
	}
	return x, nil
}

// reserve gives a tensor its place in the file. The checksum has its final
// length from the start, so that records have theirs.
func (x *externalFile) reserve(size int64) *ExternalData {
	off, _ := wire.AlignUp(x.end, alignment)
	x.end = off + size
	return &ExternalData{Location: x.location, Offset: off, Length: size, Checksum: checksumPrefix + strings.Repeat("0", 2*sha256.Size)}
}

// write stores a tensor and completes its record.
func (x *externalFile) write(e *ExternalData, in *sink.Input) error {
	if x.file == nil {
		if err := os.MkdirAll(filepath.Dir(x.path), 0o777); err != nil {
			return err
		}
		f, err := sink.CreateFile(x.path)
		if err != nil {
			return err
		}
		x.file = f
	}
	h := sha256.New()
	if err := in.CopyTo(x.file, e.Offset, io.Writer(h)); err != nil {
		return err
	}
	e.Checksum = checksumPrefix + hex.EncodeToString(h.Sum(nil))
	return nil
}

// commit puts the file in its place.
func (x *externalFile) commit(sync bool) error {
	x.done = true
	if err := x.file.Truncate(x.end); err != nil {
		x.file.Abort()
		return err
	}
	return x.file.Commit(sync)
}

// abort removes the file unless it is in its place.
func (x *externalFile) abort() {
	if x.file != nil && !x.done {
		x.done = true
		x.file.Abort()
	}
}

// encrypt seals a payload as nonce || ciphertext || tag, with a random nonce.
func encrypt(key []byte, b block, payload []byte) ([]byte, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	const most = 1<<36 - 32 // of GCM
	if int64(len(payload)) > most {
		return nil, fmt.Errorf("%w: %d bytes are more than one AES-GCM message can hold", tensor.ErrLimit, len(payload))
	}
	out := make([]byte, nonceSize, nonceSize+len(payload)+tagSize)
	rand.Read(out)
	return gcm.Seal(out, out, payload, []byte(b.String())), nil
}
