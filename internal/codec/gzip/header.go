package gzip

import (
	"errors"
	"hash/crc32"
)

// The flags of a gzip header (RFC 1952, section 2.3.1).
const (
	hasHeaderCRC = 1 << 1
	hasExtra     = 1 << 2
	hasName      = 1 << 3
	hasComment   = 1 << 4
	reserved     = 0xE0
)

var (
	errHeader   = errors.New("invalid header")
	errChecksum = errors.New("invalid checksum")
	errLength   = errors.New("invalid length")
)

// header reads bytes and their sum.
type header struct {
	f   *inflater
	sum uint32
}

func (h *header) byte() (byte, error) {
	b, err := h.f.take(8)
	one := [1]byte{byte(b)}
	h.sum = crc32.Update(h.sum, crc32.IEEETable, one[:])
	return one[0], err
}

// header reads the header of a member. Its texts are passed over, however long.
func (f *inflater) header() error {
	h := header{f: f}
	var b [10]byte
	for i := range b {
		var err error
		if b[i], err = h.byte(); err != nil {
			return err
		}
	}
	flags := b[3]
	if b[0] != 0x1F || b[1] != 0x8B || b[2] != 8 || flags&reserved != 0 {
		return errHeader
	}
	if flags&hasExtra != 0 {
		if err := h.extra(); err != nil {
			return err
		}
	}
	for _, text := range []byte{hasName, hasComment} {
		for more := flags&text != 0; more; {
			b, err := h.byte()
			if err != nil {
				return err
			}
			more = b != 0
		}
	}
	if flags&hasHeaderCRC != 0 {
		if sum, err := f.take(16); err != nil || sum != h.sum&0xFFFF {
			return errHeader
		}
	}
	return nil
}

// extra passes over the extra field.
func (h *header) extra() error {
	low, err := h.byte()
	if err != nil {
		return err
	}
	high, err := h.byte()
	for range int(high)<<8 | int(low) {
		if err == nil {
			_, err = h.byte()
		}
	}
	return err
}

// trailer reads the end of a member, which says the sum and the number of the bytes.
func (f *inflater) trailer(sum uint32, n int64) error {
	stored, err := f.take(32)
	if err != nil {
		return err
	}
	length, err := f.take(32)
	switch {
	case err != nil:
		return err
	case stored != sum:
		return errChecksum
	case length != uint32(n):
		return errLength
	}
	return nil
}
