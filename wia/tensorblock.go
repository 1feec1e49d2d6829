package wia

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/work"
	"google.golang.org/protobuf/encoding/protowire"
)

// plainPrefix returns all of a Tensor record but its data, for a record at off of
// the payload: a padding field, so that the data begins at a multiple of 64, and
// the message up to its data.
func plainPrefix(t *Tensor, off, size int64) []byte {
	head := tensorMsg.Append(nil, t)
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
	padding := protobuf.PutBytes(nil, 15, make([]byte, gap-2))
	return append(padding, b...)
}

// compressedPrefix returns all of a CompressedTensor record but its data.
func compressedPrefix(it *item, stored int64) []byte {
	head := protobuf.PutMessage(nil, 1, tensorMsg, &it.message)
	head = protobuf.PutInt(head, 2, int64(it.codec))
	head = protobuf.PutInt(head, 4, it.size)
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
	t      driver.Target
	base   int64
	h      hash.Hash
	hashed int64
}

func newBlockWriter(t driver.Target, base int64) *blockWriter {
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
