package wia

import (
	"errors"
	"fmt"
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

// Verify implements driver.Parsed. The tensor block has one sum for all its
// tensors; it is spared only when none of them is wanted and no signature, which
// covers it, is checked.
func (f *parsed) Verify(v driver.Verification) error {
	if err := f.canVerify(v); err != nil {
		return err
	}
	e := f.errands(v)
	for i := range e.Len() {
		v.Expect(e.size(i))
	}
	if err := v.Each(e.Len(), func(i int) error { return e.run(v, i) }); err != nil {
		return err
	}
	if err := f.readAgain(v); err != nil {
		return err
	}
	for _, j := range slices.Backward(e.sums) {
		v.Section(j.section, "sha256")
	}
	for i := range f.records {
		if v.Wanted(i) {
			v.Vouch(i, f.voucher(i))
		}
	}
	return f.checkSignature(v)
}

// Authenticate implements driver.Parsed: the four blocks and their signature.
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
		err := f.blockJob(sum).run(v)
		if err == nil {
			err = f.readAgain(v)
		}
		if err != nil {
			return false, err
		}
		f.touched[b] = true
	}
	return len(f.digests) == 0 && f.touched[tensorBlock] && (f.touched[graphBlock] || !f.carriers), nil
}
