package checksum

import (
	"errors"
	"hash/adler32"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestCompareMemory: the form that is right is returned; a wrong checksum, and a range outside of the bytes, are errors at the
// field of the checksum.
func TestCompareMemory(t *testing.T) {
	const off = 100
	data := []byte("the bytes from offset 100 to 130")
	size := int64(len(data))
	all := []driver.Range{{Offset: off, Size: size}}
	zeroed := []byte("the \x00\x00\x00\x00\x00 from offset 100 to 130")
	castagnoli := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	recorded := func(k driver.Kind, want uint64) []driver.Digest {
		return []driver.Digest{{Kind: k, Want: want, Field: "crc", Offset: 8}}
	}
	right := recorded(driver.CRC32, uint64(crc32.ChecksumIEEE(data)))
	wrong := recorded(driver.CRC32, uint64(crc32.ChecksumIEEE(data)^1))
	for _, tt := range []struct {
		name string
		sum  driver.Sum
		form int
		err  error
		text string
	}{
		{"crc32", driver.Sum{Ranges: all, Accept: right}, 0, nil, ""},
		{"crc32c", driver.Sum{Ranges: all, Accept: recorded(driver.CRC32C, uint64(castagnoli))}, 0, nil, ""},
		{"adler32", driver.Sum{Ranges: all, Accept: recorded(driver.Adler32, uint64(adler32.Checksum(data)))}, 0, nil, ""},
		{"xxh64", driver.Sum{Ranges: all, Accept: recorded(driver.XXH64, xxhash.Sum64(data))}, 0, nil, ""},
		{"two ranges", driver.Sum{Ranges: []driver.Range{{Offset: off, Size: 4}, {Offset: off + 4, Size: size - 4}}, Accept: right}, 0, nil, ""},
		{"a field that counts as zeros", driver.Sum{
			Ranges: all, Zeroed: []driver.Range{{Offset: off + 4, Size: 5}}, Accept: recorded(driver.CRC32, uint64(crc32.ChecksumIEEE(zeroed))),
		}, 0, nil, ""},
		{"the second digest", driver.Sum{Ranges: all, Accept: append(wrong[:1:1], right...)}, 1, nil, ""},
		{"the other form", driver.Sum{Ranges: all, Accept: wrong, Or: &driver.Sum{Ranges: []driver.Range{{Offset: off, Size: 3}}, Accept: recorded(driver.CRC32, uint64(crc32.ChecksumIEEE(data[:3])))}}, 1, nil, ""},
		{"wrong", driver.Sum{Name: "header", Ranges: all, Accept: wrong}, 0, tensor.ErrChecksum, "at 0x8: crc: "},
		{"wrong xxh64", driver.Sum{Name: "header", Ranges: all, Accept: recorded(driver.XXH64, 1)}, 0, tensor.ErrChecksum, "records 0000000000000001 for the header"},
		{"a range before the bytes", driver.Sum{Ranges: []driver.Range{{Offset: off - 1, Size: 4}}, Accept: right}, 0, tensor.ErrCorrupt, "4 bytes at 99"},
		{"a negative size", driver.Sum{Ranges: []driver.Range{{Offset: off + 1, Size: -1}}, Accept: right}, 0, tensor.ErrCorrupt, "-1 bytes at 101"},
		{"a range beyond the bytes", driver.Sum{Ranges: []driver.Range{{Offset: off + 1, Size: size}}, Accept: right}, 0, tensor.ErrCorrupt, "at 101 with"},
		{"a range far beyond", driver.Sum{Ranges: []driver.Range{{Offset: 1 << 62, Size: 4}}, Accept: recorded(driver.XXH64, 1)}, 0, tensor.ErrCorrupt, "at 4611686018427387904"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			form, err := CompareMemory(data, off, &tt.sum)
			expect.Equal(t, tt.form, form)
			if tt.err == nil {
				expect.OK(t, err)
				return
			}
			var located *tensor.Error
			if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.text) || !errors.As(err, &located) || located.Offset != 8 || located.Field != "crc" {
				t.Errorf("%v, want %v of crc at 8: %s", err, tt.err, tt.text)
			}
		})
	}
}
