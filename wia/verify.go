package wia

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// check is a range of a file that must exist, and have the SHA-256 that is recorded for it: a block,
// or external data. Or it is a compressed tensor, which must have its size.
type check struct {
	space driver.Space
	span
	sum     []byte // nil if none is recorded
	covers  string // what covers a tensor in it, as in Verification.Cover
	tensor  int    // index, of a compressed tensor if space is 0; -1 for a block, or a tensor inside the graph
	block   block  // without an index: the block, or that with the tensor inside the graph
	name    string // of a tensor inside the graph
	touched bool   // it was checked before a first use
}

// checkBytes is the memory to reserve for an element of a growing list, with its sum.
const checkBytes = 192

// coverage says by block what covers the tensors in it.
var coverage = [numSums]string{graphBlock: "sha256 of the graph block", tensorBlock: "sha256 of the tensor block"}

// verify checks what v asks for.
func (f *parsed) verify(v driver.Verification) error {
	jobs, err := f.jobs(v)
	if err != nil {
		return err
	}
	announce(v, jobs)
	if err := f.run(v, jobs); err != nil {
		return err
	}
	if err := f.checkSignature(v); err != nil {
		return err
	}
	for i, r := range f.records {
		if v.Wanted(i) {
			v.Cover(i, f.checks[r.check].covers)
		}
	}
	return nil
}

// authenticate checks the four blocks and their signature, and then external data, whose checksums are in these blocks. touch
// checks what is behind a reader.
func (f *parsed) authenticate(v driver.Verification) error {
	all, err := f.jobs(v)
	if err != nil {
		return err
	}
	var blocks, others []*check
	for _, c := range all {
		isInGraph := c.tensor < 0 // no touch precedes its use
		switch {
		case c.space == 0 && c.tensor < 0:
			blocks = append(blocks, c)
		case c.space > 0 && (isInGraph || !v.Deferred(c.space)):
			others = append(others, c)
		}
	}
	announce(v, blocks)
	announce(v, others)
	if err := f.run(v, blocks); err != nil {
		return err
	}
	if err := f.checkSignature(v); err != nil {
		return err
	}
	if err := f.run(v, others); err != nil {
		return err
	}
	for _, c := range slices.Concat(blocks, others) {
		c.touched = true
	}
	return nil
}

// announce announces checks.
func announce(v driver.Verification, jobs []*check) {
	for _, c := range jobs {
		v.Expect(c.size)
	}
}

// run makes checks.
func (f *parsed) run(v driver.Verification, jobs []*check) error {
	return v.Each(len(jobs), func(i int) error { return f.check(v, jobs[i]) })
}

// touch compares the checksum of the block of tensor i, or of its range of an
// external file. Loading checks the rest.
func (f *parsed) touch(v driver.Verification, i int) (all bool, err error) {
	if f.signature == nil {
		return true, nil
	}
	c := &f.checks[f.records[i].check]
	if c.sum != nil && !c.touched {
		err = f.check(v, c)
		if err == nil && c.space == 0 {
			err = v.Unchanged()
		}
		c.touched = err == nil
	}
	blocks := f.checks[:numSums]
	all = len(f.checks) == len(blocks) && blocks[tensorBlock].touched && (blocks[graphBlock].touched || !f.initializerData)
	return err == nil && all, err
}

// jobs lists what to check, the blocks first. A range is hashed once for each checksum that is recorded for it, of
// which one at most is right. The tensor block has one checksum for all its tensors, which the signature covers: it
// is left out only if none of them is wanted and no signature is checked. jobs refuses a file
// without checksums and, with a trusted key, external data without a checksum, which the signature
// does not cover.
func (f *parsed) jobs(v driver.Verification) (jobs []*check, err error) {
	trusted := v.Trusted()
	switch {
	case trusted != nil && !usable(trusted):
		return nil, wire.Errorf(formatName, "signature", -1, format.ErrKey, "%w: a nil or empty %T", format.ErrSignature, trusted)
	case f.signature == nil && trusted != nil:
		return nil, wire.Errorf(formatName, "signature_size", signatureField, format.ErrSignature, "the file is not signed")
	case f.signature == nil:
		return nil, wire.Errorf(formatName, "signature_size", signatureField, format.ErrChecksum, "no checksums")
	}
	tensors := v.All() || trusted != nil
	for i, r := range f.records {
		tensors = tensors || v.Wanted(i) && r.check == int32(tensorBlock)
	}
	jobs = make([]*check, 0, len(f.checks))
	for i := range f.checks {
		c := &f.checks[i]
		switch {
		case i == int(tensorBlock) && !tensors, c.tensor >= 0 && !v.Wanted(c.tensor):
			continue
		case c.space == 0:
			v.Section(c.block.String(), "sha256")
		case c.sum == nil && trusted != nil:
			return nil, f.uncovered(c)
		}
		jobs = append(jobs, c)
	}
	order := func(a, b *check) int {
		return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(b.block, a.block),
			cmp.Compare(a.off, b.off), cmp.Compare(a.size, b.size), bytes.Compare(a.sum, b.sum))
	}
	slices.SortStableFunc(jobs, order)
	jobs = slices.CompactFunc(jobs, func(a, b *check) bool { return order(a, b) == 0 })
	for i, r := range f.records {
		if v.Wanted(i) && r.codec != None {
			jobs = append(jobs, &check{span: span{size: f.index.Size(i)}, tensor: i})
		}
	}
	return jobs, nil
}

// check makes a check.
func (f *parsed) check(v driver.Verification, c *check) (err error) {
	h, part := sha256.New(), c.block.String()
	if c.tensor >= 0 {
		part = f.index.Name(c.tensor)
	}
	switch {
	case c.tensor >= 0 && c.space == 0:
		err = f.stream(c.tensor, io.Discard)
		v.Done(c.size, part)
		return err
	case c.sum != nil:
		err = v.Feed(h, c.space, c.off, c.size, part)
	default:
		_, err = v.Hash(driver.NoSum, c.space, c.off, c.size, part)
	}
	if err != nil && c.space > 0 {
		err = f.failed(c, err)
	}
	if err != nil {
		return err
	}
	if got := h.Sum(nil); c.sum != nil && !bytes.Equal(c.sum, got) {
		return f.failed(c, fmt.Errorf("%w: SHA-256 of %d bytes is %x, recorded %x", format.ErrChecksum, c.size, got[:8], c.sum[:8]))
	}
	return nil
}

// failed adds the place of a check to an error.
func (f *parsed) failed(c *check, err error) error {
	field, at := c.block.String(), c.off
	switch {
	case c.tensor >= 0:
		field, at = fmt.Sprintf("tensor %q.external_data", f.index.Name(c.tensor)), f.recordAt(c.tensor)
	case c.space > 0:
		field, at = "graph: external_data", f.graph().at
	}
	return wire.Error(formatName, field, at, err)
}

// uncovered returns the error for external data without a checksum.
func (f *parsed) uncovered(c *check) error {
	err := fmt.Errorf("%w: the signature does not cover external data without a checksum", format.ErrSignature)
	if c.tensor < 0 {
		return wire.Error(formatName, fmt.Sprintf("graph: tensor %q", c.name), f.graph().at, err)
	}
	return f.failed(c, err)
}
