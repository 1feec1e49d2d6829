package mle

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// verify checks the checksums of the structure, of the stored and of the uncompressed
// weights, and the signature. Without the key of an encrypted file, it checks everything
// else and then returns ErrKey.
func (f *parsed) verify(v driver.Verification) error {
	if !f.chunkwise(v) {
		v.Expect(f.h.Weights.Size)
	}
	if f.table != nil && !f.needsKey() {
		for _, i := range f.wantedChunks(v) {
			v.Expect(f.comp.chunks[i].size)
		}
	}
	if f.sig != nil {
		v.Expect(f.src.Size() - f.h.Signature.Size)
	}
	if err := cmp.Or(f.h.checkSum(f.head), f.checkSums()); err != nil {
		return err
	}
	weights := f.verifyWeights(v)
	if weights != nil && !f.needsKey() {
		return weights
	}
	if err := f.authenticate(v); err != nil {
		return err
	}
	if weights == nil {
		f.cover(v)
	}
	return weights
}

// cover records the checksum that covers each part.
func (f *parsed) cover(v driver.Verification) {
	h := &f.h
	by := func(sum string, recorded bool) string {
		switch {
		case recorded:
			return sum
		case f.sig != nil:
			return "sha256 of the file"
		}
		return ""
	}
	v.Section("header", by("crc32", h.HeaderChecksum != 0))
	if f.meta != nil {
		v.Section("metadata", by("crc32", h.MetadataChecksum != 0))
	}
	v.Section("graph", by("crc32", h.GraphChecksum != 0))
	switch {
	case f.comp.chunked:
		v.CoverAll("crc32 of the chunk")
	case h.WeightsChecksum == 0 && f.encrypted():
		v.CoverAll("AES-256-GCM")
	case h.WeightsChecksum == 0 && f.table != nil:
		v.CoverAll("crc32 of the uncompressed weights")
	default:
		v.CoverAll(by("crc32 of the weights", h.WeightsChecksum != 0))
	}
}

// touch checks the checksums that cover tensor i.
func (f *parsed) touch(v driver.Verification, i int) (all bool, err error) {
	switch {
	case f.encrypted(): // decryption authenticates it
		return true, nil
	case f.table == nil && f.h.WeightsChecksum == 0:
		return true, nil
	case f.comp.chunked:
		first := f.comp.find(f.at[i])
		return false, v.Each(len(f.comp.covering(f.at[i], f.index.Size(i))), func(k int) error {
			_, err := f.storedChunk(first + k)
			return err
		})
	case f.comp.Method != MethodNone:
		// The tensor is about to be used: cache the weights. verifyWeights reports errors.
		_, _ = f.inflated()
	}
	return true, f.verifyWeights(v)
}

// chunkwise reports whether only the chunks of some tensors are checked.
func (f *parsed) chunkwise(v driver.Verification) bool {
	return f.comp.chunked && !v.All()
}

// verifyWeights checks the stored and the uncompressed weights. Without a checksum, it
// still reads the stored bytes.
func (f *parsed) verifyWeights(v driver.Verification) error {
	if !f.chunkwise(v) {
		crc, err := v.Hash(driver.CRC32, 0, f.h.Weights.Offset, f.h.Weights.Size, "weights")
		if err == nil {
			err = f.h.compare("weights_checksum", f.h.WeightsChecksum, uint32(crc))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case f.needsKey():
		return fail("weights", f.h.Weights.Offset, format.ErrKey, "they are encrypted, and without the key their contents were not checked")
	case f.table != nil:
		return f.verifyChunks(v)
	case f.encrypted():
		_, err := f.stored(0, f.h.plainSize())
		return err
	}
	return nil
}

// verifyChunks checks the checksums of the wanted chunks and, if all are wanted, that of
// the uncompressed weights.
func (f *parsed) verifyChunks(v driver.Verification) error {
	which := f.wantedChunks(v)
	sums := make([]uint32, len(which))
	err := v.Each(len(which), func(i int) error {
		c := &f.comp.chunks[which[i]]
		in, err := f.storedChunk(which[i])
		if err != nil {
			return err
		}
		s := checksum.Count(v, driver.CRC32, "weights")
		if f.comp.Method == MethodNone {
			err = writeAll(s, in)
		} else if whole := f.whole.held(); whole != nil {
			err = writeAll(s, whole)
		} else {
			err = f.expand(s, in, c.size)
		}
		sums[i] = uint32(s.Sum64())
		return f.weightsError(err, c.stored)
	})
	if err != nil || len(which) < len(f.comp.chunks) {
		return err
	}
	sum := uint32(0)
	for i, s := range sums {
		sum = tensor.CombineCRC32(sum, s, f.comp.chunks[i].size)
	}
	return f.checkUncompressed(v, sum)
}

// storedChunk returns the stored bytes of a chunk and checks its checksum, if any.
func (f *parsed) storedChunk(i int) ([]byte, error) {
	c := &f.comp.chunks[i]
	b, err := f.stored(c.stored, c.storedSize)
	if err != nil || !f.comp.chunked {
		return b, err
	}
	if sum := tensor.CRC32(b); sum != c.checksum {
		return nil, fail("chunk checksum", f.comp.base+int64(i)*chunkRow+24, format.ErrChecksum,
			"chunk %d: "+sumText, i, c.checksum, sum)
	}
	return b, nil
}

// wantedChunks lists the chunks of the tensors to verify, in ascending order.
func (f *parsed) wantedChunks(v driver.Verification) (which []int) {
	wanted := make([]bool, len(f.comp.chunks))
	for i := range f.at {
		if f.chunkwise(v) && v.Wanted(i) {
			first := f.comp.find(f.at[i])
			for k := range f.comp.covering(f.at[i], f.index.Size(i)) {
				wanted[first+k] = true
			}
		}
	}
	for k, w := range wanted {
		if w || !f.chunkwise(v) {
			which = append(which, k)
		}
	}
	return which
}

// writeAll writes b in pieces.
func writeAll(w io.Writer, b []byte) error {
	for piece := range slices.Chunk(b, work.Step) {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// checkUncompressed compares the checksum of the uncompressed weights with the recorded
// one. For float16 weights it also accepts that of the reference implementation, which
// Notes then reports.
func (f *parsed) checkUncompressed(v driver.Verification, sum uint32) error {
	if sum == f.comp.Checksum {
		return nil
	}
	if f.comp.Method == MethodFloat16 {
		flushed, err := f.flushedSum(v)
		if err != nil {
			return err
		}
		if flushed == f.comp.Checksum {
			f.flushed.Store(true)
			return nil
		}
	}
	return fail("compression checksum", f.h.Compression.Offset+12, format.ErrChecksum, sumText, f.comp.Checksum, sum)
}

// flushedSum returns the CRC-32 of float16 weights as the reference implementation decodes
// them: subnormal halves and -0 become 0. The halves are contiguous, even in chunks.
func (f *parsed) flushedSum(v driver.Verification) (uint32, error) {
	const exponent, step = 0x7C00, 64 << 10
	in, err := f.stored(0, f.h.plainSize())
	s := crc(0)
	for halves := []byte(nil); err == nil && len(in) > 0; in = in[len(halves):] {
		halves = append(halves[:0], in[:min(step, len(in))]...)
		for i := 0; i < len(halves); i += 2 {
			if binary.LittleEndian.Uint16(halves[i:])&exponent == 0 {
				halves[i], halves[i+1] = 0, 0
			}
		}
		if err = v.Context().Err(); err == nil {
			err = approximation(MethodFloat16).Expand(&s, halves, 2*int64(len(halves)))
		}
	}
	return uint32(s), err
}
