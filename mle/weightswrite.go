package mle

import (
	"bytes"
	"io"
	"runtime"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// stored is the weights section before encryption. Write appends to it.
type stored struct {
	to       io.WriterAt
	size     int64
	sum      uint32 // CRC-32 of the stored bytes
	original crc    // CRC-32 of the uncompressed weights that readers see
	chunks   []chunk
}

func (s *stored) Write(p []byte) (int, error) {
	n, err := s.to.WriteAt(p, s.size)
	s.size += int64(n)
	s.sum = tensor.UpdateCRC32(s.sum, p[:n])
	return n, err
}

// chunk appends the stored form p of the uncompressed weights from off on.
func (s *stored) chunk(off int64, p []byte) error {
	s.chunks = append(s.chunks, chunk{off, s.size, int64(len(p)), tensor.CRC32(p)})
	_, err := s.Write(p)
	return err
}

// newWeights returns the encoder for the options, which writes tensors to the weights section
// and embeds e. With encryption, it writes to memory, so that no plain weights reach the disk.
func (e *encoder) newWeights() (driver.Encoder, error) {
	e.out.to = io.NewOffsetWriter(e.t, e.h.Weights.Offset)
	if e.cipher != nil {
		e.out.to = &target.Memory{}
	}
	method := e.o.method
	switch {
	case e.o.Quantized:
		return &quantizedWeights{e}, nil
	case method == MethodNone:
		return &plainWeights{encoder: e, sums: make([]crc, len(e.schema.Tensors))}, nil
	case e.o.Chunked, method == MethodFloat16: // without a chunk table, pieces of halves are contiguous
		return &chunkedWeights{encoder: e}, nil
	}
	stream, ok := methods[method].codec.(*codecs.Stream)
	if !ok {
		return &streamedWeights{encoder: e, w: &collected{e: e}}, nil
	}
	w, err := stream.NewWriter(&e.out, e.o.level, e.size)
	if err != nil {
		return nil, err
	}
	return &streamedWeights{encoder: e, w: w}, nil
}

// collects reports whether the weights are compressed in one piece, in memory.
func (o *settings) collects() bool {
	return (o.method == MethodLZ4 || o.method == MethodInt8) && !o.Chunked
}

// crc is an io.Writer that computes a CRC-32.
type crc uint32

func (s *crc) Write(p []byte) (int, error) {
	*s = crc(tensor.UpdateCRC32(uint32(*s), p))
	return len(p), nil
}

// join adds n bytes by their CRC-32.
func (s *crc) join(sum uint32, n int64) { *s = crc(tensor.CombineCRC32(uint32(*s), sum, n)) }

var padding [alignment]byte

// plainWeights writes uncompressed tensors, in any order.
type plainWeights struct {
	*encoder
	sums []crc // of the tensors
	next int   // tensors before it are in out.original
}

func (w *plainWeights) Tensor(i int, in driver.Input) error {
	if i != w.next {
		return in.CopyTo(w.out.to, w.offsets[i], &w.sums[i])
	}
	w.next++ // joining a sum takes longer than a small tensor
	err := in.CopyTo(w.out.to, w.offsets[i], &w.out.original)
	w.out.original.Write(w.pad(i))
	return err
}

func (w *plainWeights) Finish() error {
	for i := w.next; i < len(w.sums); i++ {
		w.out.original.join(uint32(w.sums[i]), w.schema.Tensors[i].Size)
		w.out.original.Write(w.pad(i))
	}
	w.out.size = w.size
	w.out.sum = uint32(w.out.original)
	return w.encoder.Finish()
}

// streamedWeights compresses all weights in one piece, in the order of the schema.
type streamedWeights struct {
	*encoder
	w io.WriteCloser
}

func (w *streamedWeights) Tensor(i int, in driver.Input) error {
	err := in.Each(w.write)
	if err != nil {
		return err
	}
	return w.write(w.pad(i))
}

func (w *streamedWeights) write(p []byte) error {
	n, err := w.w.Write(p)
	w.out.original.Write(p[:n])
	return err
}

func (w *streamedWeights) Finish() error {
	err := w.w.Close()
	if err != nil {
		return err
	}
	return w.encoder.Finish()
}

// chunkedWeights compresses tensors in chunks, several at a time, in the order of the schema.
type chunkedWeights struct {
	*encoder
	buf []byte
}

// Tensor stores tensor i and the padding behind it.
func (w *chunkedWeights) Tensor(i int, in driver.Input) error {
	at := w.offsets[i]
	end := w.offsets[i+1]
	r := io.MultiReader(in, bytes.NewReader(w.pad(i)))
	for at < end {
		n := min(w.o.ChunkSize*int64(runtime.GOMAXPROCS(0)), end-at)
		w.buf = slices.Grow(w.buf[:0], int(n))[:n]
		_, err := io.ReadFull(r, w.buf)
		if err != nil {
			return err
		}
		err = w.store(at, slices.Collect(slices.Chunk(w.buf, int(w.o.ChunkSize))))
		if err != nil {
			return err
		}
		at += n
	}
	return nil
}

// store compresses chunks in parallel and writes them in order.
func (w *chunkedWeights) store(at int64, chunks [][]byte) error {
	outs := make([][]byte, len(chunks))
	sums := make([]uint32, len(chunks))
	err := work.Each(w.o.common.Context, len(chunks), 0, func(i int) (err error) {
		outs[i], sums[i], err = compress(w.o.method, chunks[i], w.o.level)
		return err
	})
	if err != nil {
		return err
	}
	for i, out := range outs {
		size := int64(len(chunks[i]))
		w.out.original.join(sums[i], size)
		err := w.out.chunk(at, out)
		if err != nil {
			return err
		}
		at += size
	}
	return nil
}

// collected compresses all weights in one piece when it is closed.
type collected struct {
	e   *encoder
	buf bytes.Buffer
}

func (w *collected) Write(p []byte) (int, error) { return w.buf.Write(p) }

func (w *collected) Close() error {
	e := w.e
	out, sum, err := compress(e.o.method, w.buf.Bytes(), e.o.level)
	if err != nil {
		return err
	}
	e.out.original = crc(sum)
	_, err = e.out.Write(out)
	return err
}
