package mobi

import (
	"bytes"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// Verify implements driver.Parsed: it checks footer and header checksum, reads
// the structure again, and decompresses the compressed constants that are wanted.
func (f *parsed) Verify(v driver.Verification) error {
	v.Expect(f.header.graphEnd())
	var packed []int
	for i, r := range f.records {
		if r.gzip && v.Wanted(i) {
			packed = append(packed, i)
			v.Expect(int64(r.stored))
		}
	}
	footer, err := f.checkFooter(v)
	if err == nil {
		err = f.readAgain(v)
	}
	if err == nil {
		err = v.Each(len(packed), func(n int) error { return f.checkMember(v, packed[n]) })
	}
	if err != nil {
		return err
	}
	by := footerKinds[footer].String() + " of the file"
	header := by
	if f.header.Checksum != 0 {
		header = driver.CRC32.String()
	}
	v.Section("header", header)
	v.Section("metadata and operators", by)
	for i := range f.records {
		if v.Wanted(i) {
			v.Vouch(i, by)
		}
	}
	return nil
}

// readAgain parses the file anew. Sums that fit vouch for what is in the file now:
// it must still be what the constants were found in.
func (f *parsed) readAgain(v driver.Verification) error {
	o := f.opts
	o.Context, o.Check, o.Memory = v.Context(), driver.CheckDefault, nil
	if err := f.opts.Memory.Reserve(f.header.around()); err != nil {
		return wire.Error(name, "metadata and operator graph", -1, err)
	}
	defer f.opts.Memory.Release(f.header.around())
	var x driver.Index
	now, err := parse(f.src, &x, &o)
	if err != nil {
		return err
	}
	if now.header != f.header || now.model.sum != f.model.sum || !bytes.Equal(now.graph, f.graph) ||
		!slices.Equal(now.records, f.records) || !sameShapes(&x, f.index) {
		return wire.Errorf(name, "header", 0, format.ErrCorrupt, "the file was changed since it was opened")
	}
	return nil
}

// sameShapes compares the constants of equal records.
func sameShapes(a, b *driver.Index) bool {
	for i := range a.Len() {
		if a.DType(i) != b.DType(i) || !slices.Equal(a.Shape(i), b.Shape(i)) {
			return false
		}
	}
	return true
}
