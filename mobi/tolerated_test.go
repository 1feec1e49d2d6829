package mobi

import (
	"bytes"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

func floats(t *testing.T, v tensor.View) []float32 {
	t.Helper()
	got, err := tensor.Decode[float32](nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func openRemote(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestCompressed(t *testing.T) {
	data := make([]byte, 300)
	for i := range data {
		data[i] = byte(i / 7)
	}
	z := zipped(data)
	f := openImage(t, with(func(m *image) {
		m.records = append(m.records, recordOf(1, 0x8002, []uint64{300}, z), recordOf(2, 3, []uint64{150}, z))
	}))
	for _, id := range []uint32{1, 2} {
		v, _ := f.Constant(id)
		info := v.Info()
		if info.Offset != -1 || info.Stored != int64(len(z)) || info.Size != 300 || info.Compression != "gzip" || v.ZeroCopy() {
			t.Errorf("constant %d: %+v, ZeroCopy() = %v", id, info, v.ZeroCopy())
		}
		a, err := v.Bytes()
		b, _ := v.Bytes()
		if err != nil || !bytes.Equal(data, a) || &a[0] != &b[0] {
			t.Errorf("constant %d: wrong data, or inflated twice: %v", id, err)
		}
	}
}

func cut(b []byte, n int) []byte { return b[:len(b)-n] }

func flipped(b []byte, fromEnd int) []byte {
	b[len(b)-fromEnd] ^= 1
	return b
}

// TestFooterCoversAll flips every bit and wants full verification to notice,
// whichever sum the file has and whatever else it leaves unchecked.
func TestFooterCoversAll(t *testing.T) {
	for _, crc := range []bool{false, true} {
		good := with(func(m *image) {
			m.crc, m.noSum, m.gap, m.pad = crc, true, []byte{1, 2, 3}, make([]byte, 9)
			m.records = append(m.records, recordOf(1, 0x8002, []uint64{4}, zipped([]byte{1, 2, 3, 4})))
		})
		for i := range good {
			for bit := range 8 {
				good[i] ^= 1 << bit
				if err := ValidateBytes(good); err == nil {
					t.Errorf("bit %d of byte %d, CRC %v: not noticed", bit, i, crc)
				}
				good[i] ^= 1 << bit
			}
		}
	}
}
