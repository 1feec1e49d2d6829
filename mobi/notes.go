package mobi

import (
	"fmt"
)

// oddities is what parsing met that is legal but worth knowing.
type oddities struct {
	unflagged int   // gzip data without the flag
	padding   int64 // bytes between the specs and the constants
	operators survey
}

// notes lists what is tolerable but worth knowing.
func (f *parsed) notes() []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	count := func(n int, format string) {
		if n > 0 {
			add(format, n)
		}
	}
	h, s := &f.header, &f.seen
	if h.Magic == magicASCII {
		add("magic in ASCII order (MOBI)")
	}
	if h.Checksum == 0 {
		add("header checksum not recorded")
	}
	if kind, ok := f.knownFooter(); ok && kind == CRC32 {
		add("footer is a CRC-32")
	}
	if bits := h.Flags &^ flagsKnown; bits != 0 {
		add("reserved flag bits %#x are set", uint32(bits))
	}
	count(int(h.MetadataOffset)-headerSize, "%d bytes between header and metadata are ignored")
	if s.padding >= alignment || s.padding > 0 && !f.firstAligned() {
		add("%d bytes of zero padding before the constants", s.padding)
	}
	count(s.unflagged, "constants compressed without the flag: %d")
	count(s.operators.unknown, "operators of unknown types: %d")
	count(s.operators.extended, "parameters of types beyond the specification (string, int64 array): %d")
	count(f.unsound(), "constants with unsound quantization parameters: %d")
	return notes
}

// firstAligned tells whether the padding serves what the writer pads for.
func (f *parsed) firstAligned() bool {
	return len(f.records) > 0 && f.records[0].offset%alignment == 0
}

// unsound counts the constants whose real values cannot be known.
func (f *parsed) unsound() int {
	n := 0
	for i := range f.records {
		q := f.index.Quant(i)
		if q != nil && !sound(q, f.index.DType(i), f.index.Shape(i)) {
			n++
		}
	}
	return n
}
