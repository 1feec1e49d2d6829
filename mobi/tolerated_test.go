package mobi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
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

// TestSeparateKinds uses one name for an input, an output and a constant, and
// ids that repeat.
func TestSeparateKinds(t *testing.T) {
	f := openImage(t, with(func(m *image) {
		m.inputs = [][]byte{spec("9", 0)}
		m.outputs = [][]byte{spec("9", 0)}
		m.ops = append(m.ops, op(0, []uint32{9, 9, 1000}, []uint32{9, 1000, 1000}))
	}))
	if err := verify(t, f); err != nil {
		t.Error(err)
	}
}

// TestRank reads a constant of rank 65535, which nothing forbids.
func TestRank(t *testing.T) {
	dims := make([]uint64, 65535)
	for i := range dims {
		dims[i] = 1
	}
	b := with(func(m *image) { m.records = append(m.records, recordOf(3, 2, dims, []byte{5})) })
	for _, f := range []*File{openImage(t, b), openRemote(t, b)} {
		v, _ := f.Constant(3)
		if v.Info().Shape == nil || len(v.Shape()) != 65535 || v.Len() != 1 {
			t.Errorf("rank %d, %d elements", len(v.Shape()), v.Len())
		}
	}
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

// TestEmptyConstants: dims of 0, compressed or not, and a scalar.
func TestEmptyConstants(t *testing.T) {
	f := openImage(t, with(func(m *image) {
		m.records = append(m.records,
			recordOf(1, 0, []uint64{0}, nil),
			recordOf(2, 0, []uint64{math.MaxInt64 / 4, 0}, nil),
			recordOf(3, 0x8000, []uint64{3, 0}, zipped(nil)),
			recordOf(4, 4, nil, i32s(-5)),
		)
	}))
	for id, want := range map[uint32]int64{1: 0, 2: 0, 3: 0, 4: 1} {
		v, found := f.Constant(id)
		if b, err := v.Bytes(); found != nil || err != nil || v.Len() != want || int64(len(b)) != v.Info().Size {
			t.Errorf("constant %d: %d elements, %d bytes, %v", id, v.Len(), len(b), err)
		}
	}
	if err := verify(t, f); err != nil {
		t.Error(err)
	}
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

// brokenGzip are members that a file may carry, to be found on use.
var brokenGzip = map[string]struct {
	dims []uint64
	data []byte
}{
	"one byte too many":      {[]uint64{99}, zipped(make([]byte, 100))},
	"one byte too few":       {[]uint64{101}, zipped(make([]byte, 100))},
	"a bomb":                 {[]uint64{10}, zipped(make([]byte, 64<<20))},
	"a shape of 10 GB":       {[]uint64{10 << 30}, zipped(make([]byte, 100))},
	"a shape of 2^63-1":      {[]uint64{math.MaxInt64}, zipped(make([]byte, 100))},
	"two members":            {[]uint64{100}, append(zipped(make([]byte, 50)), zipped(make([]byte, 50))...)},
	"second member is empty": {[]uint64{100}, append(zipped(make([]byte, 100)), zipped(nil)...)},
	"a byte behind it":       {[]uint64{100}, append(zipped(make([]byte, 100)), 0)},
	"trailer cut":            {[]uint64{100}, cut(zipped(make([]byte, 100)), 1)},
	"wrong CRC":              {[]uint64{100}, flipped(zipped(make([]byte, 100)), 8)},
	"wrong length":           {[]uint64{100}, flipped(zipped(make([]byte, 100)), 1)},
	"no gzip at all":         {[]uint64{100}, make([]byte, 100)},
	"nothing":                {[]uint64{1}, nil},
	"header alone":           {[]uint64{1}, []byte{0x1F, 0x8B}},
}

func cut(b []byte, n int) []byte { return b[:len(b)-n] }

func flipped(b []byte, fromEnd int) []byte {
	b[len(b)-fromEnd] ^= 1
	return b
}

func TestBrokenGzip(t *testing.T) {
	for name, c := range brokenGzip {
		t.Run(name, func(t *testing.T) {
			f := openImage(t, with(func(m *image) { m.records = append(m.records, recordOf(1, 0x8002, c.dims, c.data)) }))
			v, _ := f.Constant(1)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := v.Bytes()
			_, decodeErr := tensor.Decode[float32](nil, v)
			runtime.ReadMemStats(&after)
			for _, err := range []error{err, decodeErr, verify(t, f), verify(t, f, format.WithTensors("1"))} {
				if !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrLimit) {
					t.Errorf("error %v", err)
				}
				if err != nil && !strings.Contains(err.Error(), "constant 1") {
					t.Errorf("error %v does not name the constant", err)
				}
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
				t.Errorf("took %d bytes of memory for %d bytes of input", n, len(c.data))
			}
			if err := verify(t, f, format.WithTensors("9", "7")); err != nil {
				t.Errorf("verification of the others: %v", err)
			}
		})
	}
}

// TestUnflaggedNeedsMagic: data of the wrong size are gzip only if they begin
// like it, and data of the right size never are.
func TestUnflaggedNeedsMagic(t *testing.T) {
	b := with(func(m *image) {
		m.records = append(m.records, recordOf(1, 2, []uint64{5}, []byte{0x1F, 0x8B, 8, 0, 0}))
	})
	v, _ := openImage(t, b).Constant(1)
	if got, err := v.Bytes(); err != nil || !bytes.Equal([]byte{0x1F, 0x8B, 8, 0, 0}, got) || !v.ZeroCopy() {
		t.Errorf("% x, %v", got, err)
	}
	for _, data := range [][]byte{{0x1F}, {0x8B, 0x1F, 8}, nil} {
		_, err := OpenBytes(with(func(m *image) { m.records = append(m.records, recordOf(1, 2, []uint64{5}, data)) }), nil)
		wantError(t, err, format.ErrCorrupt, "constant 1 data size")
	}
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

// TestZeroFooter: a footer of 0 is a value like any other.
func TestZeroFooter(t *testing.T) {
	b := small().bytes()
	binary.LittleEndian.PutUint32(b[len(b)-4:], 0)
	v, _ := openImage(t, b).Constant(9)
	_, err := v.Bytes()
	wantError(t, err, format.ErrChecksum, "footer")
}
