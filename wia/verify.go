package wia

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// externalRange is a range of another file with the data of a tensor, and the SHA-256 that is
// recorded for it.
type externalRange struct {
	space driver.Space
	span
	sum    []byte // nil if none is recorded
	tensor int    // index, or -1 for a tensor inside the graph
	name   string // of a tensor inside the graph
	number int    // of the declared checksum
}

// externalRangeBytes is the memory to reserve for an externalRange, with its declared checksum.
const externalRangeBytes = 640

// order compares two ranges in the order of the files.
func (e *externalRange) order(x *externalRange) int {
	return cmp.Or(
		cmp.Compare(e.space, x.space),
		cmp.Compare(e.off, x.off),
		cmp.Compare(e.size, x.size),
		bytes.Compare(e.sum, x.sum),
	)
}

// sha256Of is the checksum of all parts.
var sha256Of = &driver.Hash{Name: "sha256", New: sha256.New}

// firstBlock is the index of the sum of the first block.
const firstBlock = 1

// numberExternals gives each range of another file the number of its checksum: one for equal
// ranges.
func (f *parsed) numberExternals() {
	inOrder := make([]int, len(f.externals))
	for i := range inOrder {
		inOrder[i] = i
	}
	slices.SortFunc(inOrder, func(i, k int) int { return f.externals[i].order(&f.externals[k]) })
	last := firstBlock + int(numSums) - 1
	for n, i := range inOrder {
		e := &f.externals[i]
		if n == 0 || e.order(&f.externals[inOrder[n-1]]) != 0 {
			last++
		}
		e.number = last
	}
	f.afterExternals = last + 1
}

// sums implements driver.Parsed: what no signature can cover, the four blocks, ranges of other
// files, each once for each checksum that is recorded for it, and the signature.
func (f *parsed) sums() []driver.Sum {
	list := make([]driver.Sum, f.afterExternals+1)
	list[0] = driver.Sum{Name: "signature", Hidden: true, Check: f.checkDemand}
	for b, s := range f.hdr.blocks[:numSums] {
		sum := &list[firstBlock+b]
		sum.Name = block(b).String()
		sum.By = fmt.Sprintf("sha256 of the %v block", block(b))
		sum.Ranges = []driver.Range{{Offset: s.off, Size: s.size}}
		sum.Structure = block(b) != tensorBlock
		if f.signature != nil {
			sum.Accept = []driver.Digest{{Hash: sha256Of, Bytes: f.signature.sums[b]}}
		}
	}
	for i := len(f.externals) - 1; i >= 0; i-- { // errors name the first of equal ranges
		e := &f.externals[i]
		list[e.number] = f.externalSum(e)
	}
	list[f.afterExternals] = driver.Sum{Name: "signature", Hidden: true, Check: f.checkSignature}
	return list
}

// externalSum returns the checksum of a range of another file. Without one, the range must exist.
func (f *parsed) externalSum(e *externalRange) driver.Sum {
	name := "graph"
	field := "graph: external_data"
	at := f.graph().at
	if e.tensor >= 0 {
		name = f.index.Name(e.tensor)
		field = f.externalField(e.tensor)
		at = f.recordAt(e.tensor)
	}
	place := driver.Range{Space: e.space, Offset: e.off, Size: e.size}
	sum := driver.Sum{Name: name, Hidden: true, Ranges: []driver.Range{place}}
	digest := driver.Digest{Field: field, Offset: at}
	if e.sum != nil {
		digest.Hash = sha256Of
		digest.Bytes = e.sum
		sum.By = sha256Of.Name
	}
	sum.Accept = []driver.Digest{digest}
	return sum
}

func (f *parsed) externalField(tensor int) string {
	return fmt.Sprintf("tensor %q.external_data", f.index.Name(tensor))
}

// sumsOf implements driver.Parsed.
func (f *parsed) sumsOf(i int) (from, to int) {
	r := &f.records[i]
	k := firstBlock + int(r.block)
	if r.external >= 0 {
		k = f.externals[r.external].number
	}
	return k, k + 1
}

// authenticate implements driver.Parsed. It checks the four blocks and their signature, and then
// external data, whose checksums are in these blocks. The engine checks tensors in deferred files
// when they are first used; no first use precedes that of a tensor inside the graph.
func (f *parsed) authenticate(v driver.Verification) error {
	if err := f.checkDemand(v); err != nil {
		return err
	}
	for _, s := range f.hdr.blocks[:numSums] {
		v.Expect(s.size)
	}
	var others []int
	isListed := make([]bool, f.afterExternals)
	for i := range f.externals {
		e := &f.externals[i]
		if isListed[e.number] || e.tensor >= 0 && v.Deferred(e.space) {
			continue
		}
		isListed[e.number] = true
		others = append(others, e.number)
		v.Expect(e.size)
	}
	err := v.Each(int(numSums), func(i int) error { return v.Compare(firstBlock + i) })
	if err != nil {
		return err
	}
	if err := f.checkSignature(v); err != nil {
		return err
	}
	return v.Each(len(others), func(i int) error { return v.Compare(others[i]) })
}

// checkDemand refuses a file without checksums, and what no signature can cover.
func (f *parsed) checkDemand(v driver.Verification) error {
	trusted := v.Trusted()
	switch {
	case trusted != nil && !usable(trusted):
		return wire.Errorf(formatName, "signature", -1, format.ErrKey,
			"%w: a nil or empty %T", format.ErrSignature, trusted)
	case f.signature == nil && trusted != nil:
		return f.hdr.bad(signatureField, format.ErrSignature, "the file is not signed")
	case f.signature == nil:
		return f.hdr.bad(signatureField, format.ErrChecksum, "no checksums")
	case trusted == nil:
		return nil
	}
	for i := range f.externals {
		e := &f.externals[i]
		if e.sum == nil && (e.tensor < 0 || v.Wanted(e.tensor)) {
			return f.uncovered(e)
		}
	}
	return nil
}

// uncovered returns the error for external data without a checksum.
func (f *parsed) uncovered(e *externalRange) error {
	field := fmt.Sprintf("graph: tensor %q", e.name)
	at := f.graph().at
	if e.tensor >= 0 {
		field = f.externalField(e.tensor)
		at = f.recordAt(e.tensor)
	}
	err := fmt.Errorf("%w: the signature does not cover external data without a checksum",
		format.ErrSignature)
	return wire.Error(formatName, field, at, err)
}
