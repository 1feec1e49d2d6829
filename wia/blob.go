package wia

import (
	"bytes"
	"fmt"

	"github.com/weightmap/weightmap/internal/sink"
	"github.com/weightmap/weightmap/internal/work"
)

// blob keeps data whose offset is not known yet: in memory while it is little, else
// in a temporary file.
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
