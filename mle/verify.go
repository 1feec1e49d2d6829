package mle

import (
	"bytes"
	"encoding/binary"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// Verify implements driver.Parsed: the structure is read again, the weights are
// checked as they are stored and as they come out, and the signature. Without the
// key of an encrypted file everything else is checked before the answer is ErrKey.
func (f *parsed) Verify(v driver.Verification) error {
	trusted, err := f.trustedKey(v.Trusted())
	if err != nil {
		return err
	}
	f.expect(v)
	if err := f.verifyHeader(); err != nil {
		return err
	}
	for _, p := range f.parts() {
		if err := p.verify(v); err != nil {
			return err
		}
	}
	weights := f.verifyWeights(v)
	if weights != nil && !f.needsKey() {
		return weights
	}
	if err := f.verifySignature(v, trusted); err != nil {
		return err
	}
	if weights == nil {
		f.cover(v)
	}
	return weights
}

// expect announces the work, for progress reports.
func (f *parsed) expect(v driver.Verification) {
	for _, p := range f.parts() {
		v.Expect(p.at.Size)
	}
	if !f.chunkwise(v) {
		v.Expect(f.h.Weights.Size)
	}
	switch {
	case f.comp == nil || f.needsKey():
	case f.comp.chunked:
		for _, i := range f.wantedChunks(v) {
			v.Expect(f.comp.chunk(i).size)
		}
	default:
		v.Expect(f.comp.size)
	}
	if f.sig != nil {
		v.Expect(f.src.Size() - f.h.Signature.Size)
	}
}

// cover records what vouched for what.
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
	case f.isChunked():
		v.VouchAll("crc32 of the chunk")
	case h.WeightsChecksum == 0 && h.Features.Has(Encryption):
		v.VouchAll("AES-256-GCM")
	case h.WeightsChecksum == 0 && f.comp != nil:
		v.VouchAll("crc32 of the uncompressed weights")
	default:
		v.VouchAll(by("crc32 of the weights", h.WeightsChecksum != 0))
	}
}

// Touch implements driver.Parsed.
func (f *parsed) Touch(v driver.Verification, i int) (all bool, err error) {
	switch {
	case f.h.Features.Has(Encryption):
		return true, nil // what decrypts is whole
	case f.isChunked():
		first, last := f.comp.covering(f.weightsOffset(i), f.index.Size(i))
		return false, v.Each(last-first, func(k int) error {
			_, err := f.storedChunk(first + k)
			return err
		})
	case f.h.WeightsChecksum != 0:
		err = f.verifyStored(v)
	}
	if err != nil || f.comp == nil {
		return true, err
	}
	if f.comp.method != MethodNone {
		// The tensor is about to be used, so what comes out is kept.
		if _, err := f.inflated(); err != nil {
			return true, err
		}
	}
	return true, f.verifyContents(v)
}

// errChanged says that the file is not the one that was opened.
func errChanged(name string, at int64) error {
	return fail(name, at, format.ErrCorrupt, "changed since the file was opened")
}

// verifyHeader reads the header again.
func (f *parsed) verifyHeader() error {
	b := make([]byte, len(f.head))
	if _, err := f.src.ReadAt(b, 0); err != nil {
		return err
	}
	if err := f.h.checkSum(b); err != nil {
		return err
	}
	if n := f.h.HeaderSize; !bytes.Equal(b[:n], f.head[:n]) {
		return errChanged("header", 0)
	}
	return nil
}

// verify reads the section again.
func (p *part) verify(v driver.Verification) error {
	sum, err := v.Hash(driver.CRC32, 0, p.at.Offset, p.at.Size, p.name)
	if err == nil {
		err = p.check(uint32(sum))
	}
	if err == nil && uint32(sum) != tensor.CRC32(*p.bytes) {
		err = errChanged(p.name, p.at.Offset)
	}
	return err
}

// chunkwise reports whether only the chunks of some tensors are checked.
func (f *parsed) chunkwise(v driver.Verification) bool { return f.isChunked() && !v.All() }

// isChunked reports whether the weights are cut into chunks.
func (f *parsed) isChunked() bool { return f.comp != nil && f.comp.chunked }

// verifyWeights checks the stored weights and what comes out of them.
func (f *parsed) verifyWeights(v driver.Verification) error {
	if !f.chunkwise(v) {
		if err := f.verifyStored(v); err != nil {
			return err
		}
	}
	return f.verifyContents(v)
}

// verifyStored checks the checksum of the weights section. Without one the
// bytes are still read: they must be there.
func (f *parsed) verifyStored(v driver.Verification) error {
	sum, err := f.storedSum(v)
	if err == nil && f.h.WeightsChecksum != 0 && sum != f.h.WeightsChecksum {
		err = weightsSumError(f.h.WeightsChecksum, sum)
	}
	return err
}

func weightsSumError(want, got uint32) error {
	return sumError("weights_checksum", atChecksums+8, want, got)
}

// storedSum returns the CRC-32 of the weights section.
func (f *parsed) storedSum(v driver.Verification) (uint32, error) {
	sum, err := v.Hash(driver.CRC32, 0, f.h.Weights.Offset, f.h.Weights.Size, "weights")
	return uint32(sum), err
}

// verifyContents checks what comes out of the stored weights.
func (f *parsed) verifyContents(v driver.Verification) error {
	encrypted := f.h.Features.Has(Encryption)
	switch {
	case f.needsKey():
		return fail("weights", f.h.Weights.Offset, format.ErrKey, "they are encrypted, and without the key their contents were not checked")
	case f.comp == nil && !encrypted:
		return nil
	case f.comp == nil:
		// Decryption vouches for what comes out of it.
		_, err := f.stored(0, f.h.plainSize())
		return err
	case f.comp.chunked:
		return f.verifyChunks(v)
	case f.comp.method == MethodNone && !encrypted:
		sum, err := f.storedSum(v)
		if err != nil {
			return err
		}
		return f.checkUncompressed(v, sum)
	}
	return f.verifyWhole(v)
}

// verifyWhole checks weights that were compressed in one piece. What comes out
// is not kept.
func (f *parsed) verifyWhole(v driver.Verification) error {
	in, err := f.stored(0, f.h.plainSize())
	if err != nil {
		return err
	}
	f.store.mu.Lock()
	kept := f.store.whole
	f.store.mu.Unlock()
	s := summed{v: v}
	switch {
	case f.comp.method == MethodNone:
		s.sum, err = sumUncompressed(v, in)
	case kept.done && kept.err != nil:
		err = kept.err
	case kept.done:
		s.sum, err = sumUncompressed(v, kept.b)
	default:
		err = f.weightsError(f.expand(f.comp.method, &s, in, f.comp.size), 0)
	}
	if err != nil {
		return err
	}
	return f.checkUncompressed(v, s.sum)
}

// summed computes the CRC-32 of what is written, and counts it.
type summed struct {
	v   driver.Verification
	sum uint32
}

func (s *summed) Write(b []byte) (int, error) {
	s.sum = tensor.UpdateCRC32(s.sum, b)
	s.v.Done(int64(len(b)), "weights")
	return len(b), s.v.Context().Err()
}

// sumUncompressed returns the CRC-32 of bytes in memory, and counts them.
func sumUncompressed(v driver.Verification, b []byte) (sum uint32, err error) {
	err = work.Chunks(v.Context(), b, nil, "", func(piece []byte) {
		sum = tensor.UpdateCRC32(sum, piece)
		v.Done(int64(len(piece)), "weights")
	})
	return sum, err
}

// checkUncompressed compares the recorded sum of the uncompressed weights with
// theirs. The reference implementation's own sum over float16 weights will do
// as well; Notes tells about it from then on.
func (f *parsed) checkUncompressed(v driver.Verification, sum uint32) error {
	if sum == f.comp.checksum {
		return nil
	}
	if f.comp.method == MethodFloat16 {
		flushed, err := f.flushedSum(v)
		if err != nil {
			return err
		}
		if flushed == f.comp.checksum {
			f.flushed.Store(true)
			return nil
		}
	}
	return sumError("compression checksum", f.h.Compression.Offset+12, f.comp.checksum, sum)
}

// flushedSum is the CRC-32 of the floats that the reference implementation makes
// of float16 weights: it decodes subnormal halves and -0 as 0. Chunks or not,
// the halves are back to back.
func (f *parsed) flushedSum(v driver.Verification) (sum uint32, err error) {
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
			err = codecOf(MethodFloat16).Expand(&s, halves, 2*int64(len(halves)))
		}
	}
	return uint32(s), err
}
