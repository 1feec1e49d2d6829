package mobi

import (
	"encoding/binary"
	"errors"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// touch implements driver.Parsed. The footer covers all constants, so a wrong one is wrong for all.
func (f *parsed) touch(v driver.Verification, _ int) (all bool, err error) {
	if f.wrong != nil {
		return true, f.wrong
	}
	if _, err = f.checkFooter(v); errors.Is(err, format.ErrChecksum) {
		f.wrong = err
	}
	return true, err
}

// checkFooter compares the footer with the checksum of all bytes before it and
// returns its kind.
func (f *parsed) checkFooter(v driver.Verification) (driver.Kind, error) {
	end := f.header.graphEnd()
	b, err := f.src.Slice(end, footerSize)
	if err != nil {
		return 0, err
	}
	word := uint64(binary.LittleEndian.Uint32(b))
	adler, err := v.Hash(driver.Adler32, 0, 0, end, "file")
	if err != nil || adler == word {
		return driver.Adler32, err
	}
	crc, err := v.Hash(driver.CRC32, 0, 0, end, "")
	if err == nil && crc != word {
		err = wire.Errorf(name, "footer", end, format.ErrChecksum, "stored %08x, computed Adler-32 %08x, CRC-32 %08x", word, adler, crc)
	}
	return driver.CRC32, err
}

// verify implements driver.Parsed. It checks the footer and the header, and
// decompresses the compressed constants that are wanted.
func (f *parsed) verify(v driver.Verification) error {
	v.Expect(f.header.graphEnd())
	var wanted []*member
	for i := range f.members {
		if m := &f.members[i]; v.Wanted(m.tensor) {
			wanted = append(wanted, m)
			v.Expect(f.index.Size(m.tensor))
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
	by := footer.String() + " of the file"
	header := by
	if f.header.Checksum != 0 {
		header = driver.CRC32.String()
	}
	v.Section("header", header)
	v.Section("metadata and operators", by)
	v.CoverAll(by)
	return nil
}
