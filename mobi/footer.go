package mobi

import (
	"encoding/binary"
	"errors"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// verdict is what a check of the footer found.
type verdict struct {
	kind Footer
	err  error // ErrChecksum when it is neither sum
}

// footerKinds are the sums of the engine, by Footer.
var footerKinds = [...]driver.Kind{Adler32: driver.Adler32, CRC32: driver.CRC32}

// Touch implements driver.Parsed: the footer vouches for all constants. Its
// verdict is remembered either way.
func (f *parsed) Touch(v driver.Verification, _ int) (all bool, err error) {
	known := f.footer.Load()
	if known != nil {
		return known.err == nil, known.err
	}
	if _, err = f.checkFooter(v); err == nil {
		err = f.readAgain(v)
	}
	return err == nil, err
}

// knownFooter returns which sum the file ends with, once that is known.
func (f *parsed) knownFooter() (footer Footer, ok bool) {
	known := f.footer.Load()
	if known == nil || known.err != nil {
		return 0, false
	}
	return known.kind, true
}

// checkFooter checks the footer and remembers the first verdict. What could not
// be read is not a verdict.
func (f *parsed) checkFooter(v driver.Verification) (Footer, error) {
	kind, err := f.sumFooter(v)
	if err == nil || errors.Is(err, format.ErrChecksum) {
		f.footer.CompareAndSwap(nil, &verdict{kind, err})
	}
	return kind, err
}

// sumFooter compares the footer with the sum of all bytes before it and says
// which sum it is: Adler-32, or if not that CRC-32.
func (f *parsed) sumFooter(v driver.Verification) (Footer, error) {
	end := f.header.graphEnd()
	b, err := f.src.Slice(end, footerSize)
	if err != nil {
		return 0, err
	}
	stored := uint64(binary.LittleEndian.Uint32(b))
	adler, err := v.Hash(footerKinds[Adler32], 0, 0, end, "")
	if err != nil || adler == stored {
		return Adler32, err
	}
	crc, err := v.Rehash(footerKinds[CRC32], 0, 0, end)
	if err != nil || crc == stored {
		return CRC32, err
	}
	return 0, wire.Errorf(name, "footer", end, format.ErrChecksum, "stored %08x, computed Adler-32 %08x, CRC-32 %08x", stored, adler, crc)
}
