package wia

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

var (
	errNoChecksums = fmt.Errorf("%w: no checksums", format.ErrChecksum)
	errUncovered   = fmt.Errorf("%w: external data without a checksum is not covered by it", format.ErrSignature)
)

// Verify implements driver.Parsed. The tensor block has one checksum for all its tensors; it
// is skipped only when none of them is wanted and no signature, which covers it, is checked.
func (f *parsed) Verify(v driver.Verification) error {
	if err := f.canVerify(v); err != nil {
		return err
	}
	c := f.checks(v)
	for i := range c.len() {
		v.Expect(c.size(i))
	}
	if err := v.Each(c.len(), func(i int) error { return c.run(v, i) }); err != nil {
		return err
	}
	for sum := range numSums {
		if sum != sumOfTensors || len(c.sums) == numSums {
			v.Section(sumNames[sum], "sha256")
		}
	}
	for i := range f.records {
		if v.Wanted(i) {
			v.Vouch(i, f.voucher(i))
		}
	}
	return f.checkSignature(v)
}

// checks lists the checks of a verification. Tensors, which may be many in a small file, are
// given by index.
type checks struct {
	f      *parsed
	sums   []int    // of blocks, the largest first
	claims []uint32 // on external files, equal ranges side by side
	ends   []uint32 // of each range in claims
	packed []uint32 // compressed tensors
}

// checks lists what is to be done. Equal ranges of external files are hashed once, however
// many tensors share them.
func (f *parsed) checks(v driver.Verification) *checks {
	c := &checks{f: f, sums: []int{sumOfGraph, sumOfMetadata, sumOfHeader}}
	block := v.All() || v.Trusted() != nil
	for i := range f.records {
		r := &f.records[i]
		switch {
		case !v.Wanted(i):
		case r.external:
			c.claims = append(c.claims, uint32(i))
		default:
			block = block || !r.graph
			if r.compressed && f.index.Loaded(i) {
				c.packed = append(c.packed, uint32(i))
			}
		}
	}
	for i := range f.hidden {
		c.claims = append(c.claims, uint32(len(f.records)+i))
	}
	if block {
		c.sums = []int{sumOfTensors, sumOfGraph, sumOfMetadata, sumOfHeader}
	}
	c.ends = f.groupClaims(c.claims)
	return c
}

func (c *checks) len() int { return len(c.sums) + len(c.ends) + len(c.packed) }

// shared returns the claims on range i.
func (c *checks) shared(i int) []uint32 {
	if i == 0 {
		return c.claims[:c.ends[0]]
	}
	return c.claims[c.ends[i-1]:c.ends[i]]
}

// size returns how many bytes a check reads.
func (c *checks) size(i int) int64 {
	if i < len(c.sums) {
		return c.f.summed(c.sums[i]).size
	}
	if i -= len(c.sums); i < len(c.ends) {
		return c.f.claim(c.shared(i)[0]).rng.size
	}
	return c.f.index.Size(int(c.packed[i-len(c.ends)]))
}

func (c *checks) run(v driver.Verification, i int) error {
	if i < len(c.sums) {
		return c.f.checkSum(v, c.sums[i])
	}
	if i -= len(c.sums); i < len(c.ends) {
		return c.f.checkRange(v, c.shared(i))
	}
	t := int(c.packed[i-len(c.ends)])
	err := c.f.Stream(t, io.Discard)
	v.Done(c.f.index.Size(t), c.f.index.Name(t))
	return err
}

// summed returns what one of the four checksums covers.
func (f *parsed) summed(sum int) extent {
	if sum == sumOfHeader {
		return extent{size: headerSize}
	}
	s := f.hdr.blocks[sum-1]
	return extent{off: s.off, size: s.size}
}

// checkSum compares one of the four checksums.
func (f *parsed) checkSum(v driver.Verification, sum int) error {
	e := f.summed(sum)
	got, err := sha256Of(v, e, sumNames[sum])
	if err == nil && got != f.sums[sum] {
		err = wire.Errorf(formatName, sumNames[sum], e.off, format.ErrChecksum, "SHA-256 of the block is %x, recorded %x", got[:8], f.sums[sum][:8])
	}
	return err
}

// sha256Of returns the SHA-256 of a range.
func sha256Of(v driver.Verification, e extent, part string) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if err = v.Feed(h, e.space, e.off, e.size, part); err == nil {
		h.Sum(sum[:0])
	}
	return sum, err
}

// Authenticate implements driver.Parsed: the four blocks and their signature. External data
// must have checksums, which are not compared.
func (f *parsed) Authenticate(v driver.Verification) error {
	if err := f.canVerify(v); err != nil {
		return err
	}
	if err := v.Each(numSums, func(i int) error { return f.checkSum(v, i) }); err != nil {
		return err
	}
	return f.checkSignature(v)
}

// voucher names the sum that covers tensor i, "" for none.
func (f *parsed) voucher(i int) string {
	switch r := &f.records[i]; {
	case r.external && !f.digests[r.more].set:
		return ""
	case r.external:
		return "sha256"
	case r.graph:
		return "sha256 of the graph block"
	}
	return "sha256 of the tensor block"
}

// canVerify refuses files without sums, and with a trusted key external data
// without a checksum: a signature covers what the model's file says of it, and so
// not its bytes.
func (f *parsed) canVerify(v driver.Verification) error {
	trusted := v.Trusted() != nil
	switch {
	case trusted && !usable(v.Trusted()):
		return wire.Error(formatName, "signature", -1, fmt.Errorf("%w: %w: the trusted key is a %T without a key in it", format.ErrKey, format.ErrSignature, v.Trusted()))
	case f.signature == nil && trusted:
		return wire.Error(formatName, "signature_size", signatureField, fmt.Errorf("%w: the file is not signed", format.ErrSignature))
	case f.signature == nil:
		return wire.Error(formatName, "signature_size", signatureField, errNoChecksums)
	case !trusted:
		return nil
	}
	for i, r := range f.records {
		if r.external && v.Wanted(i) && !f.digests[r.more].set {
			return f.externalError(i, errUncovered)
		}
	}
	for _, h := range f.hidden {
		if !h.sum.set {
			return wire.Error(formatName, fmt.Sprintf("graph: tensor %q", h.name), f.graph.at, errUncovered)
		}
	}
	return nil
}

// Touch implements driver.Parsed: the sum of the tensor's block, or of its range of
// an external file. Loading checks the rest.
func (f *parsed) Touch(v driver.Verification, i int) (all bool, err error) {
	if f.signature == nil {
		return true, nil
	}
	r := &f.records[i]
	if r.external {
		if f.digests[r.more].set {
			err = f.checkRange(v, []uint32{uint32(i)})
		}
		return false, err
	}
	b, sum := tensorBlock, sumOfTensors
	if r.graph {
		b, sum = graphBlock, sumOfGraph
	}
	if !f.touched[b] {
		err := f.checkSum(v, sum)
		if err == nil {
			err = v.Unchanged()
		}
		if err != nil {
			return false, err
		}
		f.touched[b] = true
	}
	return len(f.digests) == 0 && f.touched[tensorBlock] && (f.touched[graphBlock] || !f.carriers), nil
}
