package wia

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

var (
	errNoChecksums = fmt.Errorf("%w: no checksums", format.ErrChecksum)
	errUncovered   = fmt.Errorf("%w: external data without a checksum is not covered by it", format.ErrSignature)
)

// Verify implements driver.Verifier. The tensor block has one sum for all its
// tensors; it is spared only when none of them is wanted and no signature, which
// covers it, is checked.
func (f *parsed) Verify(v driver.Verification) error {
	if err := f.canVerify(v); err != nil {
		return err
	}
	jobs := f.jobs(v)
	for i := range jobs {
		v.Expect(jobs[i].size)
	}
	if err := v.Each(len(jobs), func(i int) error { return jobs[i].run(v) }); err != nil {
		return err
	}
	if err := f.readAgain(v); err != nil {
		return err
	}
	for _, j := range slices.Backward(jobs) {
		if j.section != "" {
			v.Section(j.section, "sha256")
		}
	}
	for i := range f.records {
		if v.Wanted(i) {
			v.Vouch(i, f.voucher(i))
		}
	}
	return f.checkSignature(v)
}

// readAgain parses the file anew. Sums that fit vouch for what is in the file now: it
// must still be what the tensors were found in.
func (f *parsed) readAgain(v driver.Verification) error {
	o := f.opts
	o.Context, o.Memory = v.Context(), nil
	now := &parsed{src: f.src, index: &driver.Index{}, most: f.most, spaces: maps.Clone(f.spaces)}
	if err := now.parse(&o); err != nil {
		return err
	}
	same := now.hdr == f.hdr && now.sums == f.sums && now.index.Len() == f.index.Len() &&
		bytes.Equal(now.meta.Win, f.meta.Win) && bytes.Equal(now.graph.Win, f.graph.Win) &&
		(f.tensors.inFile || bytes.Equal(now.tensors.Win, f.tensors.Win)) &&
		slices.Equal(now.records, f.records) && slices.Equal(now.stored, f.stored) && slices.Equal(now.digests, f.digests)
	for i := 0; same && i < f.index.Len(); i++ {
		var is, was tensor.Info
		now.index.Describe(i, &is)
		f.index.Describe(i, &was)
		same = is.Name == was.Name && is.DType == was.DType && is.Shape.Equal(was.Shape) && is.Size == was.Size &&
			now.extentOf(i) == f.extentOf(i) && is.Quant.Equal(was.Quant)
	}
	if !same {
		return wire.Errorf(formatName, "header", 0, format.ErrCorrupt, "the file was changed since it was opened")
	}
	return nil
}

// Authenticate implements driver.Authenticator: the four blocks and their signature.
// External data must have checksums, which are not compared.
func (f *parsed) Authenticate(v driver.Verification) error {
	if err := f.canVerify(v); err != nil {
		return err
	}
	err := v.Each(numSums, func(i int) error { return f.blockJob(i).run(v) })
	if err != nil {
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

// job is a part of a verification.
type job struct {
	section string // that the sum is for, "" for others
	size    int64
	run     func(driver.Verification) error
}

// jobs lists what is to be done, the largest part first. Equal ranges of external
// files are hashed once, however many tensors share them.
func (f *parsed) jobs(v driver.Verification) []job {
	jobs := make([]job, 0, numSums)
	block := v.All() || v.Trusted() != nil
	var rest []job
	var ranges map[extent][]claim
	var order []extent
	add := func(e extent, c claim) {
		if ranges == nil {
			ranges = make(map[extent][]claim)
		}
		if ranges[e] == nil {
			order = append(order, e)
		}
		ranges[e] = append(ranges[e], c)
	}
	for i := range f.records {
		r := &f.records[i]
		switch {
		case !v.Wanted(i):
		case r.external:
			add(f.extentOf(i), claim{i, f.digests[r.more]})
		default:
			block = block || !r.graph
			if r.compressed && f.index.Loaded(i) {
				rest = append(rest, f.inflation(i))
			}
		}
	}
	for _, h := range f.hidden {
		add(h.rng, claim{-1, h.sum})
	}
	if block {
		jobs = append(jobs, f.blockJob(sumOfTensors))
	}
	for _, e := range order {
		claims := ranges[e]
		jobs = append(jobs, job{size: e.size, run: func(v driver.Verification) error { return f.checkRange(v, e, claims) }})
	}
	jobs = append(jobs, rest...)
	return append(jobs, f.blockJob(sumOfGraph), f.blockJob(sumOfMetadata), f.blockJob(sumOfHeader))
}

// inflation is the job for a compressed tensor.
func (f *parsed) inflation(i int) job {
	size := f.index.Size(i)
	return job{size: size, run: func(v driver.Verification) error {
		err := f.inflates(i)
		v.Done(size, f.index.Name(i))
		return err
	}}
}

// blockJob is the job for one of the four sums.
func (f *parsed) blockJob(sum int) job {
	s := span{0, headerSize}
	if sum != sumOfHeader {
		s = f.hdr.blocks[sum-1]
	}
	return job{section: sumNames[sum], size: s.size, run: func(v driver.Verification) error {
		got, err := sha256Of(v, extent{off: s.off, size: s.size}, sumNames[sum])
		if err == nil && got != f.sums[sum] {
			err = wire.Errorf(formatName, sumNames[sum], s.off, format.ErrChecksum, "SHA-256 of the block is %x, recorded %x", got[:8], f.sums[sum][:8])
		}
		return err
	}}
}

// sha256Of returns the SHA-256 of a range.
func sha256Of(v driver.Verification, e extent, part string) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if err = v.Feed(h, e.space, e.off, e.size, part); err == nil {
		h.Sum(sum[:0])
	}
	return sum, err
}

// claim is what a tensor, -1 for one of an attribute, says of a range.
type claim struct {
	tensor int
	sum    digest
}

// checkRange checks that a range of an external file exists and has the sums that
// it should have.
func (f *parsed) checkRange(v driver.Verification, e extent, claims []claim) error {
	part, summed := "graph", false
	for _, c := range claims {
		summed = summed || c.sum.set
		if c.tensor >= 0 {
			part = f.index.Name(c.tensor)
		}
	}
	if !summed {
		_, err := v.Hash(driver.NoSum, e.space, e.off, e.size, part)
		return f.externalError(claims[0].tensor, err)
	}
	got, err := sha256Of(v, e, part)
	if err != nil {
		return f.externalError(claims[0].tensor, err)
	}
	for _, c := range claims {
		if want := c.sum.sum; c.sum.set && got != want {
			return f.externalError(c.tensor, fmt.Errorf("%w: SHA-256 of %d bytes at %d of %q is %x, recorded %x",
				format.ErrChecksum, e.size, e.off, f.location(e.space), got[:8], want[:8]))
		}
	}
	return nil
}

// location returns where an external file is, in one of the spellings of the file.
func (f *parsed) location(s driver.Space) (location string) {
	for l, n := range f.spaces {
		if n == s && (location == "" || l < location) {
			location = l
		}
	}
	return location
}

// externalError says which tensor an error about external data is about, and
// where its message is; of tensors in attributes it says only that.
func (f *parsed) externalError(i int, err error) error {
	var inner *tensor.Error
	switch {
	case err == nil:
		return nil
	case i < 0:
		return wire.Error(formatName, "graph: external_data", f.graph.at, err)
	case errors.As(err, &inner) && inner.Path == "" && inner.Field != "":
		err = fmt.Errorf("%s: %w", inner.Field, inner.Err)
	}
	err = protobuf.InField("external_data", &protobuf.Defect{At: f.records[i].at, Err: err})
	return f.payloadOf(i).locate(fmt.Sprintf("tensor %q", f.index.Name(i)), err)
}

// Touch implements driver.Toucher: the sum of the tensor's block, or of its range of
// an external file. Loading checks the rest.
func (f *parsed) Touch(v driver.Verification, i int) (all bool, err error) {
	if f.signature == nil {
		return true, nil
	}
	r := &f.records[i]
	if r.external {
		if d := f.digests[r.more]; d.set {
			err = f.checkRange(v, f.extentOf(i), []claim{{i, d}})
		}
		return false, err
	}
	b, sum := tensorBlock, sumOfTensors
	if r.graph {
		b, sum = graphBlock, sumOfGraph
	}
	if !f.touched[b] {
		err := f.blockJob(sum).run(v)
		if err == nil {
			err = f.readAgain(v)
		}
		if err != nil {
			return false, err
		}
		f.touched[b] = true
	}
	return len(f.digests) == 0 && f.touched[tensorBlock] && (f.touched[graphBlock] || !f.graph.Carriers), nil
}
