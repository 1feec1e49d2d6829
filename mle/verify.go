package mle

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/tensor"
)

// verify checks the checksums of the structure, of the stored and of the uncompressed
// weights, and the signature. Without the key of an encrypted file, it checks everything
// else and then returns ErrKey.
func (f *parsed) verify(v driver.Verification) error {
	chunks := f.wantedChunks(v)
	if !f.chunkwise(v) {
		v.Expect(f.h.Weights.Size)
	}
	for _, i := range chunks {
		v.Expect(f.comp.size(i))
	}
	if f.sig != nil {
		v.Expect(f.src.Size() - f.h.Signature.Size)
	}
	if err := cmp.Or(f.h.checkSum(f.head), f.checkSums()); err != nil {
		return err
	}
	weights := f.verifyWeights(v, chunks)
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
	if f.table != nil { // the other fields are determined by what is checked
		v.Section("level and quantization_bits of the compression section", by("", false))
	}
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
	case f.encrypted(), f.table == nil && f.h.WeightsChecksum == 0: // decryption authenticates it, or nothing does
		return true, nil
	case f.comp.chunked:
		first, end, _ := f.comp.covering(f.at[i], f.index.Size(i))
		return false, v.Each(end-first, func(k int) error {
			_, err := f.storedChunk(first + k)
			return err
		})
	}
	if err := f.verifyStored(v); err != nil || f.table == nil {
		return true, err
	}
	b, err := f.content()
	if err == nil {
		err = f.checkUncompressed(v, tensor.CRC32(b))
	}
	return true, err
}

// chunkwise reports whether only the chunks of some tensors are checked.
func (f *parsed) chunkwise(v driver.Verification) bool {
	return f.comp.chunked && !v.All()
}

// verifyStored checks the stored weights. Without a checksum, it still reads them.
func (f *parsed) verifyStored(v driver.Verification) error {
	crc, err := v.Hash(driver.CRC32, 0, f.h.Weights.Offset, f.h.Weights.Size, "weights")
	if err != nil {
		return err
	}
	return f.h.compare("weights_checksum", f.h.WeightsChecksum, uint32(crc))
}

// verifyWeights checks the stored weights, and some chunks of the uncompressed ones.
func (f *parsed) verifyWeights(v driver.Verification, chunks []int) (err error) {
	if !f.chunkwise(v) {
		err = f.verifyStored(v)
	}
	switch {
	case err != nil:
		return err
	case f.needsKey():
		return fail("weights", f.h.Weights.Offset, format.ErrKey, "they are encrypted, and without the key their contents were not checked")
	case f.table != nil:
		return f.verifyChunks(v, chunks)
	case f.encrypted():
		_, err = f.content()
	}
	return err
}

// verifyChunks checks the checksums of some chunks and, if these are all, that of the uncompressed weights.
func (f *parsed) verifyChunks(v driver.Verification, which []int) error {
	sums := make([]uint32, len(which))
	err := v.Each(len(which), func(i int) error {
		in, err := f.storedChunk(which[i])
		if err != nil {
			return err
		}
		s := checksum.Count(v, driver.CRC32, "weights")
		err = f.expand(s, in, f.comp.size(which[i]))
		sums[i] = uint32(s.Sum64())
		return f.weightsError(err, f.comp.chunks[which[i]].Stored)
	})
	if err != nil || len(which) < len(f.comp.chunks) {
		return err
	}
	sum := uint32(0)
	for i, s := range sums {
		sum = tensor.CombineCRC32(sum, s, f.comp.size(i))
	}
	return f.checkUncompressed(v, sum)
}

// storedChunk returns the stored bytes of a chunk and checks its checksum, if any.
func (f *parsed) storedChunk(i int) ([]byte, error) {
	c := &f.comp.chunks[i]
	b, err := f.stored(c.Stored, c.StoredSize)
	if err != nil || !f.comp.chunked {
		return b, err
	}
	if sum := tensor.CRC32(b); sum != c.Checksum {
		return nil, fail("chunk checksum", f.comp.base+int64(i)*chunkRow+24, format.ErrChecksum,
			"chunk %d: "+sumText, i, c.Checksum, sum)
	}
	return b, nil
}

// wantedChunks lists the chunks of the tensors to verify, in ascending order.
func (f *parsed) wantedChunks(v driver.Verification) (which []int) {
	if f.needsKey() {
		return nil
	}
	wanted := make([]bool, len(f.comp.chunks))
	for i := range f.at {
		if f.chunkwise(v) && v.Wanted(i) {
			first, end, _ := f.comp.covering(f.at[i], f.index.Size(i))
			copy(wanted[first:end], slices.Repeat([]bool{true}, end-first))
		}
	}
	for k, w := range wanted {
		if w || !f.chunkwise(v) {
			which = append(which, k)
		}
	}
	return which
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
			err = codecs.DataTo(&s, approximation(MethodFloat16), halves, 2*int64(len(halves)), f.memory)
		}
	}
	return uint32(s), err
}
