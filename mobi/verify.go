package mobi

import (
	"encoding/binary"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// verdict is the result of a check of the footer.
type verdict struct {
	kind Footer
	err  error // ErrChecksum if it is neither checksum
}

// touch implements driver.Parsed. The footer covers all constants.
func (f *parsed) touch(v driver.Verification, _ int) (all bool, err error) {
	if known := f.footer.Load(); known != nil {
		return true, known.err
	}
	_, err = f.checkFooter(v)
	return true, err
}

// checkFooter compares the footer with the checksum of all bytes before it and
// returns its kind. It stores the first verdict; a failed read is not a verdict.
func (f *parsed) checkFooter(v driver.Verification) (Footer, error) {
	end := f.header.graphEnd()
	b, err := f.src.Slice(end, footerSize)
	if err != nil {
		return 0, err
	}
	word, kind := uint64(binary.LittleEndian.Uint32(b)), Adler32
	adler, err := v.Hash(driver.Adler32, 0, 0, end, "")
	if err != nil {
		return 0, err
	}
	if adler != word {
		kind = CRC32
		var crc uint64
		if crc, err = v.Rehash(driver.CRC32, 0, 0, end); err != nil {
			return 0, err
		}
		if crc != word {
			err = wire.Errorf(name, "footer", end, format.ErrChecksum, "stored %08x, computed Adler-32 %08x, CRC-32 %08x", word, adler, crc)
		}
	}
	f.footer.CompareAndSwap(nil, &verdict{kind, err})
	return kind, err
}

// verify implements driver.Parsed. It checks the footer and the header, and
// decompresses the compressed constants that are wanted.
func (f *parsed) verify(v driver.Verification) error {
	v.Expect(f.header.graphEnd())
	var wanted []*member
	for i := range f.members {
		if m := &f.members[i]; v.Wanted(m.tensor) {
			wanted = append(wanted, m)
			v.Expect(m.stored)
		}
	}
	footer, err := f.checkFooter(v)
	if err == nil {
		again := parser{parsed: &parsed{src: f.src}, opts: &driver.Options{}}
		err = again.readHeader() // with its checksum, which CheckStructure omits on open
	}
	if err == nil {
		err = v.Each(len(wanted), func(i int) error { return f.checkMember(v, wanted[i]) })
	}
	if err != nil {
		return err
	}
	by := kinds[footer].String() + " of the file"
	header := by
	if f.header.Checksum != 0 {
		header = driver.CRC32.String()
	}
	v.Section("header", header)
	v.Section("metadata and operators", by)
	for i := range f.index.Len() {
		if v.Wanted(i) {
			v.Cover(i, by)
		}
	}
	return nil
}
