package mle

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// Verify checks the checksums of header, metadata, graph and stored weights,
// the weights' decryption and decompression with their checksums, and the
// signature: the hash of the file always, the signer when a trusted key
// (ed25519.PublicKey) is given. Without the key of an encrypted file
// everything else is checked, and then the answer is ErrKey.
//
// WithTensors limits the work where the weights are cut into chunks: then only
// the chunks of those tensors are checked. Everywhere else one checksum
// covers all weights.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) error {
	o := format.NewVerifyOptions(opts)
	return f.use(func() error { return f.verify(ctx, o) })
}

func (f *File) verify(ctx context.Context, o *format.VerifyOptions) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	trusted, err := trustedKey(o)
	if err != nil {
		return err
	}
	names := o.Tensors
	for _, name := range names {
		if _, ok := f.Index(name); !ok {
			return fail(fmt.Sprintf("tensor %q", name), -1, format.ErrCorrupt, "there is no tensor of that name")
		}
	}
	if trusted != nil && f.sig == nil {
		return signatureError(&f.h, Unsigned, trusted)
	}
	for _, check := range []func() error{f.checkHeaderSum, f.checkMetadataSum, f.checkGraphSum} {
		if err := check(); err != nil {
			return err
		}
	}
	p := work.NewProgress(o.Progress, f.verifyTotal(names))
	weights := f.verifyWeights(ctx, o, p)
	if weights != nil && !f.Locked() {
		return weights
	}
	if err := f.verifySignature(ctx, trusted, o.Trusted, p); err != nil {
		return err
	}
	return weights
}

// verifySignature demands a valid signature by the trusted key. Without one only
// the recorded hash is compared: a signature proves nothing by the key beside it.
func (f *File) verifySignature(ctx context.Context, trusted ed25519.PublicKey, key crypto.PublicKey, p *work.Progress) error {
	if key == nil {
		return f.checkModelHash(ctx, p)
	}
	status, err := f.checkSignature(ctx, trusted, p)
	if err != nil {
		return err
	}
	return signatureError(&f.h, status, key)
}

func (f *File) checkHeaderSum() error { return f.h.checkHeaderSum(f.head) }

// trustedKey returns the caller's key; one that cannot have signed an MLE file
// is as good as another's.
func trustedKey(o *format.VerifyOptions) (ed25519.PublicKey, error) {
	switch key := o.Trusted.(type) {
	case nil:
		return nil, nil
	case ed25519.PublicKey:
		return key, nil
	default:
		return nil, fail("signature", -1, format.ErrSignature, "files are signed with Ed25519, the trusted key is a %T", key)
	}
}

// verifyTotal is how many bytes verification reads, for progress reports.
func (f *File) verifyTotal(names []string) int64 {
	total := f.h.Weights.Size
	if f.chunkedOnly(names) {
		total = 0
	}
	if f.comp != nil && !f.Locked() {
		total += f.comp.size
	}
	if f.sig != nil {
		total += f.Region().Size() - f.h.Signature.Size
	}
	return total
}

// chunkedOnly reports whether names limit the check of the weights.
func (f *File) chunkedOnly(names []string) bool {
	return len(names) > 0 && f.comp != nil && f.comp.chunked
}

// verifyWeights checks the stored weights and what comes out of them.
func (f *File) verifyWeights(ctx context.Context, o *format.VerifyOptions, p *work.Progress) error {
	if !f.chunkedOnly(o.Tensors) {
		if err := f.verifyStored(ctx, p, o.Workers); err != nil {
			return err
		}
	}
	return f.verifyInner(ctx, o, p)
}

// verifyInner checks what comes out of the stored weights.
func (f *File) verifyInner(ctx context.Context, o *format.VerifyOptions, p *work.Progress) error {
	if f.Locked() {
		return fail("weights", f.h.Weights.Offset, format.ErrKey, "they are encrypted, and without the key their contents were not checked")
	}
	switch {
	case f.comp == nil && !f.h.Features.Has(Encryption):
		return nil
	case f.comp == nil:
		// Decryption vouches for what comes out of it.
		_, err := f.stored(0, f.h.plainSize())
		return err
	case f.comp.chunked:
		return f.verifyChunks(ctx, o, p)
	case f.comp.method == MethodNone && !f.h.Features.Has(Encryption):
		sum, err := f.storedSum(ctx, p, o.Workers)
		if err != nil {
			return err
		}
		return f.checkUncompressed(ctx, sum)
	}
	return f.verifyWhole(ctx, p)
}

// verifyStored checks the checksum of the weights section. Without one the
// bytes are read all the same: they must be there.
func (f *File) verifyStored(ctx context.Context, p *work.Progress, workers int) error {
	sum, err := f.storedSum(ctx, p, workers)
	if err == nil && f.h.WeightsChecksum != 0 && sum != f.h.WeightsChecksum {
		err = sumError("weights_checksum", atChecksums+8, f.h.WeightsChecksum, sum)
	}
	return err
}

// storedSum returns the CRC-32 of the weights section.
func (f *File) storedSum(ctx context.Context, p *work.Progress, workers int) (sum uint32, err error) {
	err = f.eachPart(f.h.Weights.Offset, f.h.Weights.End(), func(b []byte) error {
		part, err := f.sum(ctx, b, "weights", p, workers)
		sum = tensor.CombineCRC32(sum, part, int64(len(b)))
		return err
	})
	return sum, err
}

// sum returns the CRC-32 of b, computed by several goroutines.
func (f *File) sum(ctx context.Context, b []byte, name string, p *work.Progress, workers int) (uint32, error) {
	n := (len(b) + work.Step - 1) / work.Step
	sums := make([]uint32, n)
	err := work.Each(ctx, n, workers, func(i int) error {
		piece := b[i*work.Step : min((i+1)*work.Step, len(b))]
		return f.Region().Guard(func() error {
			sums[i] = tensor.CRC32(piece)
			p.Add(int64(len(piece)), name)
			return nil
		})
	})
	total := uint32(0)
	for i, s := range sums {
		total = tensor.CombineCRC32(total, s, int64(min(work.Step, len(b)-i*work.Step)))
	}
	return total, err
}

// verifyWhole checks weights that were compressed in one piece. What comes out
// is kept only if some tensor was asked for before.
func (f *File) verifyWhole(ctx context.Context, p *work.Progress) error {
	in, err := f.stored(0, f.h.plainSize())
	if err != nil {
		return err
	}
	out := in
	if f.comp.method != MethodNone {
		f.store.mu.Lock()
		out, err = f.store.whole.kept()
		f.store.mu.Unlock()
		if out == nil && err == nil {
			out, err = decompress(f.comp.method, in, f.comp.size)
			err = f.weightsError(err, 0)
		}
		if err != nil {
			return err
		}
	}
	sum := uint32(0)
	err = work.Chunks(ctx, out, p, "weights", func(piece []byte) { sum = tensor.UpdateCRC32(sum, piece) })
	if err != nil {
		return err
	}
	return f.checkUncompressed(ctx, sum)
}

// checkUncompressed compares the recorded sum of the uncompressed weights with
// theirs. The reference implementation's own sum over float16 weights will do
// as well; Notes tells about it from then on.
func (f *File) checkUncompressed(ctx context.Context, sum uint32) error {
	if sum == f.comp.checksum {
		return nil
	}
	if f.comp.method == MethodFloat16 {
		flushed, err := f.flushedSum(ctx)
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
// the halves lie back to back.
func (f *File) flushedSum(ctx context.Context) (sum uint32, err error) {
	const exponent, step = 0x7C00, 64 << 10
	in, err := f.stored(0, f.h.plainSize())
	if err != nil {
		return 0, err
	}
	halves, out := make([]byte, 0, step), tensor.AlignedBytes(2*step)
	for ; len(in) > 0; in = in[len(halves):] {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		halves = append(halves[:0], in[:min(step, len(in))]...)
		for i := 0; i < len(halves); i += 2 {
			if binary.LittleEndian.Uint16(halves[i:])&exponent == 0 {
				halves[i], halves[i+1] = 0, 0
			}
		}
		floats := out[:2*len(halves)]
		if err := expand(MethodFloat16, floats, halves); err != nil {
			return 0, f.weightsError(err, 0)
		}
		sum = tensor.UpdateCRC32(sum, floats)
	}
	return sum, nil
}

// verifyChunks checks the sums of the chunks and, when none is left out, of
// what comes out of all of them together.
func (f *File) verifyChunks(ctx context.Context, o *format.VerifyOptions, p *work.Progress) error {
	which := f.wantedChunks(o.Tensors)
	sums := make([]uint32, len(which))
	err := work.Each(ctx, len(which), o.Workers, func(i int) error {
		return f.Region().Guard(func() (err error) {
			sums[i], err = f.verifyChunk(ctx, which[i], p)
			return err
		})
	})
	if err != nil || len(which) < f.comp.chunks() {
		return err
	}
	sum := uint32(0)
	for i, s := range sums {
		sum = tensor.CombineCRC32(sum, s, f.comp.chunk(i).size)
	}
	return f.checkUncompressed(ctx, sum)
}

// verifyChunk checks one chunk and returns the sum of its uncompressed bytes.
func (f *File) verifyChunk(ctx context.Context, i int, p *work.Progress) (uint32, error) {
	c := f.comp.chunk(i)
	in, err := f.stored(c.stored, c.storedSz)
	if err != nil {
		return 0, err
	}
	if sum := tensor.CRC32(in); sum != c.checksum {
		return 0, wire.Errorf(formatName, "chunk checksum", f.comp.base+int64(i)*chunkRow+24, format.ErrChecksum,
			"chunk %d: %#08x recorded, %#08x computed", i, c.checksum, sum)
	}
	if f.comp.method == MethodNone {
		return f.sumChunk(ctx, in, p)
	}
	if !isPlausible(c.size, c.storedSz) {
		out, err := decompress(f.comp.method, in, c.size)
		if err != nil {
			return 0, f.weightsError(err, c.stored)
		}
		return f.sumChunk(ctx, out, p)
	}
	// Fresh memory costs as much as fast decompression.
	buf, _ := chunkBuffers.Get().(*[]byte)
	if buf == nil || int64(cap(*buf)) < c.size {
		fresh, err := buffer(c.size)
		if err != nil {
			return 0, f.weightsError(err, c.stored)
		}
		buf = &fresh
	}
	defer chunkBuffers.Put(buf)
	out := (*buf)[:c.size]
	if err := decompressInto(f.comp.method, out, in); err != nil {
		return 0, f.weightsError(err, c.stored)
	}
	return f.sumChunk(ctx, out, p)
}

var chunkBuffers sync.Pool // of *[]byte

func (f *File) sumChunk(ctx context.Context, b []byte, p *work.Progress) (sum uint32, err error) {
	err = work.Chunks(ctx, b, p, "weights", func(piece []byte) { sum = tensor.UpdateCRC32(sum, piece) })
	return sum, err
}

// wantedChunks lists the chunks of the named tensors in order, all without
// names.
func (f *File) wantedChunks(names []string) []int {
	wanted := make([]bool, f.comp.chunks())
	for _, name := range names {
		i, _ := f.Index(name)
		first, last := f.comp.covering(f.weightsOffset(i), f.Info(i).Size)
		for k := first; k < last; k++ {
			wanted[k] = true
		}
	}
	var which []int
	for k, w := range wanted {
		if w || len(names) == 0 {
			which = append(which, k)
		}
	}
	return which
}

// weightsOffset returns where tensor i begins in the uncompressed weights.
func (f *File) weightsOffset(i int) int64 {
	if f.lazy != nil {
		return f.lazy[i]
	}
	return f.Info(i).Offset - f.h.Weights.Offset
}
