package wia

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// verify checks what v asks for. The tensor block has one checksum for all its
// tensors, which the signature covers: it is skipped only if none of them is
// wanted and no signature is checked.
func (f *parsed) verify(v driver.Verification) error {
	if err := f.canVerify(v); err != nil {
		return err
	}
	var checks []func() error
	check := func(size int64, do func() error) {
		v.Expect(size)
		checks = append(checks, do)
	}
	tensors := v.All() || v.Trusted() != nil
	for i, r := range f.records {
		tensors = tensors || v.Wanted(i) && r.external < 0 && r.block == tensorBlock
	}
	sums := []block{tensorBlock, graphBlock, metadataBlock, headerBlock} // the largest first
	if !tensors {
		sums = sums[1:]
	}
	for _, sum := range sums {
		check(f.hdr.blocks[sum].size, func() error { return f.checkSum(v, sum) })
	}
	for _, same := range f.ranges(v) {
		check(f.externals[same[0]].size, func() error { return f.checkRange(v, same) })
	}
	for i, r := range f.records {
		if r.compressed && f.index.Loaded(i) && v.Wanted(i) {
			check(f.index.Size(i), func() error {
				err := f.stream(i, io.Discard)
				v.Done(f.index.Size(i), f.index.Name(i))
				return err
			})
		}
	}
	if err := v.Each(len(checks), func(i int) error { return checks[i]() }); err != nil {
		return err
	}
	for _, sum := range slices.Backward(sums) {
		v.Section(sum.String(), "sha256")
	}
	for i := range f.records {
		if v.Wanted(i) {
			v.Cover(i, f.coveredBy(i))
		}
	}
	return f.checkSignature(v)
}

// authenticate checks the four blocks and their signature. It requires checksums
// of external data, but does not compare them.
func (f *parsed) authenticate(v driver.Verification) error {
	if err := f.canVerify(v); err != nil {
		return err
	}
	if err := v.Each(int(numSums), func(i int) error { return f.checkSum(v, block(i)) }); err != nil {
		return err
	}
	return f.checkSignature(v)
}

// touch compares the checksum of the block of tensor i, or of its range of an
// external file. Loading checks the rest.
func (f *parsed) touch(v driver.Verification, i int) (all bool, err error) {
	if f.signature == nil {
		return true, nil
	}
	r := &f.records[i]
	if r.external >= 0 {
		if f.externals[r.external].summed {
			err = f.checkRange(v, []int32{r.external})
		}
		return false, err
	}
	if !f.touched[r.block] {
		if err = f.checkSum(v, r.block); err == nil {
			err = v.Unchanged()
		}
		f.touched[r.block] = err == nil
	}
	return err == nil && len(f.externals) == 0 && f.touched[tensorBlock] && (f.touched[graphBlock] || !f.initializerData), err
}

var errUncovered = fmt.Errorf("%w: the signature does not cover external data without a checksum", format.ErrSignature)

// canVerify refuses a file without checksums. With a trusted key it also refuses
// external data without a checksum, which the signature does not cover.
func (f *parsed) canVerify(v driver.Verification) error {
	trusted := v.Trusted()
	switch {
	case trusted != nil && !usable(trusted):
		return wire.Error(formatName, "signature", -1, fmt.Errorf("%w: %w: the trusted key is a nil or empty %T", format.ErrKey, format.ErrSignature, trusted))
	case f.signature == nil && trusted != nil:
		return wire.Errorf(formatName, "signature_size", signatureField, format.ErrSignature, "the file is not signed")
	case f.signature == nil:
		return wire.Errorf(formatName, "signature_size", signatureField, format.ErrChecksum, "no checksums")
	case trusted == nil:
		return nil
	}
	for i := range f.externals {
		switch x := &f.externals[i]; {
		case x.summed:
		case x.tensor < 0:
			return wire.Error(formatName, fmt.Sprintf("graph: tensor %q", x.name), f.graph().at, errUncovered)
		case v.Wanted(x.tensor):
			return f.externalError(x, errUncovered)
		}
	}
	return nil
}

// coveredBy names the checksum that covers tensor i, "" for none.
func (f *parsed) coveredBy(i int) string {
	switch r := &f.records[i]; {
	case r.external >= 0 && !f.externals[r.external].summed:
		return ""
	case r.external >= 0:
		return "sha256"
	case r.block == graphBlock:
		return "sha256 of the graph block"
	default:
		return "sha256 of the tensor block"
	}
}

// checkSum computes and compares the checksum of a block.
func (f *parsed) checkSum(v driver.Verification, b block) error {
	s := f.hdr.blocks[b]
	got, err := sha256Of(v, 0, s, b.String())
	if want := f.signature.sums[b]; err == nil && got != want {
		err = wire.Errorf(formatName, b.String(), s.off, format.ErrChecksum, "SHA-256 of the block is %x, recorded %x", got[:8], want[:8])
	}
	return err
}

// sha256Of returns the SHA-256 of a range.
func sha256Of(v driver.Verification, space driver.Space, s span, part string) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if err = v.Feed(h, space, s.off, s.size, part); err == nil {
		h.Sum(sum[:0])
	}
	return sum, err
}

// ranges lists the external data to check, as indexes into f.externals. Each
// element has all entries with the same range, so that it is hashed once.
func (f *parsed) ranges(v driver.Verification) (list [][]int32) {
	all := make([]int32, 0, len(f.externals)) // allocated once: there may be very many
	for i := range f.externals {
		if x := &f.externals[i]; x.tensor < 0 || v.Wanted(x.tensor) {
			all = append(all, int32(i))
		}
	}
	order := func(a, b int32) int {
		x, y := &f.externals[a], &f.externals[b]
		return cmp.Or(cmp.Compare(x.space, y.space), cmp.Compare(x.off, y.off), cmp.Compare(x.size, y.size))
	}
	slices.SortStableFunc(all, order)
	list = make([][]int32, 0, len(all))
	for from, to := 0, 0; from < len(all); from = to {
		for to = from; to < len(all) && order(all[from], all[to]) == 0; to++ {
		}
		list = append(list, all[from:to])
	}
	return list
}

// checkRange checks that a range of an external file exists and matches every
// checksum recorded for it.
func (f *parsed) checkRange(v driver.Verification, same []int32) error {
	first := &f.externals[same[0]]
	part := "graph"
	if first.tensor >= 0 {
		part = f.index.Name(first.tensor)
	}
	if !slices.ContainsFunc(same, func(i int32) bool { return f.externals[i].summed }) {
		_, err := v.Hash(driver.NoSum, first.space, first.off, first.size, part)
		return f.externalError(first, err)
	}
	got, err := sha256Of(v, first.space, first.span, part)
	if err != nil {
		return f.externalError(first, err)
	}
	for _, i := range same {
		if x := &f.externals[i]; x.summed && got != x.sum {
			return f.externalError(x, fmt.Errorf("%w: SHA-256 of %d bytes at %d of the file is %x, recorded %x", format.ErrChecksum, x.size, x.off, got[:8], x.sum[:8]))
		}
	}
	return nil
}
