package mag

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/wire"
)

// The files below are built field by field from the description of the layout,
// independently of the writer under test.

// v1Entry is a metadata record.
type v1Entry struct {
	aux     uint32
	payload uint64
	key     string
}

// v1Tensor is a tensor record with its data.
type v1Tensor struct {
	aux    [4]byte
	numel  uint64
	offset uint64
	shape  []uint64
	key    string
	data   []byte // at offset; nil if the tensor shares the data of another
}

// v1File is a version 1 file.
type v1File struct {
	magic    string
	version  uint32
	tensors  []v1Tensor
	metadata []v1Entry
	aux      uint32
	tail     []byte
	gap      byte // value of the bytes between tensors; 0 means 0xFF
	// Wrong counts and checksum; nil means the correct ones.
	numTensors, numMeta, sum *uint32
	sumForm                  func(structural []byte) uint32
}

func (f *v1File) bytes() []byte {
	b := corpus.LE(f.magic, f.version, uint32(0), or(f.numTensors, len(f.tensors)), or(f.numMeta, len(f.metadata)), f.aux)
	for _, m := range f.metadata {
		b = append(b, corpus.LE(m.aux, m.payload, uint32(len(m.key)), m.key)...)
	}
	for _, t := range f.tensors {
		b = append(b, corpus.LE(t.aux, t.numel, t.offset, t.shape, uint32(len(t.key)), t.key)...)
	}
	form := f.sumForm
	if form == nil {
		form = castagnoliFrom12
	}
	sum := form(b)
	if f.sum != nil {
		sum = *f.sum
	}
	binary.LittleEndian.PutUint32(b[8:], sum)
	for _, t := range f.tensors {
		if t.data != nil && int(t.offset) >= len(b) {
			b = append(b, repeated(cmp.Or(f.gap, 0xFF), int(t.offset)-len(b))...)
			b = append(b, t.data...)
		}
	}
	return append(b, f.tail...)
}

func or(wrong *uint32, correct int) uint32 {
	if wrong != nil {
		return *wrong
	}
	return uint32(correct)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func castagnoliFrom12(b []byte) uint32 { return crc32.Checksum(b[12:], castagnoli) }
func ieeeFrom12(b []byte) uint32       { return crc32.ChecksumIEEE(b[12:]) }
func ieeeWhole(b []byte) uint32        { return crc32.ChecksumIEEE(b) } // the field is still 0
func castagnoliWhole(b []byte) uint32  { return crc32.Checksum(b, castagnoli) }

// floats returns the float32 values 1 to n.
func floats(n int) []byte {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(i + 1)
	}
	return corpus.LE(values)
}

// Digests computed by an independent implementation of XXH64.
const (
	xxh64Floats6  = 0xcb9aefe4e48aa842
	xxh64Bytes123 = 0x743e13ee0c4ee5a5
)

// goldenV1 returns a file as the writer makes it.
func goldenV1() v1File {
	return v1File{
		magic: "MAG!", version: 1,
		metadata: []v1Entry{
			{1, 42, "epochs"},
			{2, 0x3FD0000000000000, "lr"},
			{1, 0xFFFFFFFFFFFFFFFD, "w"},
			{1, xxh64Floats6, "xxh64/w"},
			{1, xxh64Floats6, "xxh64/tied"},
			{1, xxh64Bytes123, "xxh64/Größe"},
		},
		tensors: []v1Tensor{
			{aux: [4]byte{0, 2}, numel: 6, offset: 320, shape: []uint64{2, 3}, key: "w", data: floats(6)},
			{aux: [4]byte{3, 1}, numel: 6, offset: 384, shape: []uint64{6}, key: "tied", data: floats(6)},
			{aux: [4]byte{2, 1}, numel: 3, offset: 448, shape: []uint64{3}, key: "Größe", data: []byte{1, 2, 3}},
		},
		tail: repeated(0xFF, 61),
	}
}

func repeated(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }

// snapTensor is a descriptor of a snapshot and the tensor's data.
type snapTensor struct {
	rank, dtype uint8
	aux         uint16
	key         uint32
	numel       uint64
	offset      uint64
	shape       []uint64
	data        []byte
}

// snapFile is a snapshot container.
type snapFile struct {
	magic   string
	version uint32
	stamp   uint64
	aux     uint32
	metaLen uint32
	pool    []string
	offsets []uint32 // nil means the correct ones
	marks   [4]string
	tensors []snapTensor
	tail    []byte
	// A wrong checksum and counts; nil means the correct ones.
	sum, numTensors, numStrings *uint32
}

func (f *snapFile) bytes() []byte {
	b := corpus.LE(f.magic, f.version, f.stamp, uint32(0), f.aux, f.metaLen, or(f.numTensors, len(f.tensors)))
	b = append(b, corpus.LE(f.marks[0], or(f.numStrings, len(f.pool)), f.poolOffsets(), strings.Join(f.pool, ""), f.marks[1], f.marks[2])...)
	for _, t := range f.tensors {
		b = append(b, corpus.LE(t.rank, t.dtype, t.aux, t.key, t.numel, t.offset, t.shape)...)
	}
	sum := crc32.Checksum(b[20:], castagnoli)
	if f.sum != nil {
		sum = *f.sum
	}
	binary.LittleEndian.PutUint32(b[16:], sum)
	b = append(b, f.marks[3]...)
	for _, t := range f.tensors {
		b = append(b, t.data...)
	}
	return append(b, f.tail...)
}

func (f *snapFile) poolOffsets() []uint32 {
	if f.offsets != nil {
		return f.offsets
	}
	offsets := []uint32{0}
	for _, s := range f.pool {
		offsets = append(offsets, offsets[len(offsets)-1]+uint32(len(s)))
	}
	return offsets
}

var snapMarks = [4]string{"SRP!", "MDT!", "DSC!", "BUF!"}

// goldenSnapshot returns a file as the writer makes it: the tensors sorted by element
// size, the data at 256.
func goldenSnapshot() snapFile {
	return snapFile{
		magic: "MAG!", version: 100, stamp: 1709210096,
		pool:  []string{"long", "w", "scalar", "flags", "------------------------------------"},
		marks: snapMarks,
		tensors: []snapTensor{
			{rank: 1, dtype: 11, key: 0, numel: 1, offset: 0, shape: []uint64{1}, data: repeated(7, 8)},
			{rank: 2, dtype: 0, key: 1, numel: 6, offset: 8, shape: []uint64{2, 3}, data: floats(6)},
			{rank: 0, dtype: 2, key: 2, numel: 1, offset: 32, data: []byte{0x80, 0x3F}},
			{rank: 1, dtype: 3, key: 3, numel: 3, offset: 34, shape: []uint64{3}, data: []byte{1, 0, 2}},
		},
	}
}

// TestGolden reads files and writes them again.
func TestGolden(t *testing.T) {
	v1, snap, wording := goldenV1(), goldenSnapshot(), goldenV1()
	wording.sumForm = ieeeWhole
	snapshot := &format.WriteOptions{
		Format: Format{Snapshot: true},
		Time:   time.Date(2024, 2, 29, 12, 34, 56, 0, time.UTC),
	}
	noSnapshot := &snapFile{magic: "MAG!", version: 100, stamp: 1709210096, marks: snapMarks}
	for _, c := range []struct {
		name string
		want []byte
		o    *format.WriteOptions
	}{
		{"version 1", v1.bytes(), nil},
		{"version 1, checksum of the wording", wording.bytes(), &format.WriteOptions{Format: Format{Checksum: CRC32}}},
		{"version 1, empty", (&v1File{magic: "MAG!", version: 1}).bytes(), nil},
		{"snapshot", snap.bytes(), snapshot},
		{"snapshot, empty", noSnapshot.bytes(), snapshot},
	} {
		f, err := openBytes(c.want, nil)
		expect.OK(t, err)
		defer f.Close()
		p, err := f.Schema()
		expect.OK(t, err)
		if c.o == snapshot {
			slices.Reverse(p.Tensors) // the writer sorts them by the size of an element
		}
		var out bytes.Buffer
		w, err := newWriter(&out, p, c.o)
		expect.OK(t, err)
		expect.OK(t, w.WriteModel(f.Model))
		expect.OK(t, w.Close())
		if diff := gocmp.Diff(c.want, out.Bytes()); diff != "" {
			t.Errorf("%s (-golden +writer):\n%s", c.name, diff)
		}
	}
}

// TestDocumentedLayout: what reads a record reads the fields of its table in doc.go.
func TestDocumentedLayout(t *testing.T) {
	v1 := goldenV1()
	p := parserOf(v1.bytes())
	p.r.Text("magic", magic, format.ErrMagic)
	p.r.U32("version")
	_, entries := p.headerV1()
	corpus.Documented(t, "A header, which is followed by the metadata records, the tensor records and the data", "", &p.r)
	for range p.r.Records("", entries, 1) {
		p.entry()
		corpus.Documented(t, "A metadata record", "metadata ", &p.r)
	}
	p.r.Begin()
	p.recordV1()
	corpus.Documented(t, "A tensor record", "tensor ", &p.r)

	snap := goldenSnapshot()
	p = parserOf(snap.bytes())
	p.r.Text("magic", magic, format.ErrMagic)
	p.r.U32("version")
	p.headerSnapshot()
	corpus.Documented(t, "A header is followed by four sections, each with a marker", "", &p.r)
	p.r.Begin()
	s := p.readPool()
	corpus.Documented(t, "The string pool behind its marker", "string pool ", &p.r)
	p.r.Begin()
	p.marker(markerMetadata)
	p.marker(markerDescriptors)
	p.r.Begin()
	p.recordSnapshot(&s)
	corpus.Documented(t, "A descriptor", "tensor ", &p.r)
}

// TestDecodedRows: the records that are decoded by hand have the fields that are read by name.
func TestDecodedRows(t *testing.T) {
	v1 := goldenV1()
	p := parserOf(v1.bytes())
	p.r.Skip("magic and version", 8)
	tensors, entries := p.headerV1()
	for range p.r.Records("", entries, 1) {
		at := p.r.Offset()
		want := p.entry()
		got, size := decodeEntry(v1.bytes()[at:])
		expect.Equal(t, want, got, gocmp.AllowUnexported(entryV1{}))
		expect.Equal(t, p.r.Offset()-at, int64(size))
	}
	for range p.r.Records("", tensors, 1) {
		at := p.r.Offset()
		want := p.recordV1()
		got, size := decodeRow(v1.bytes()[at:])
		got.at = at
		expect.Equal(t, want, got, gocmp.AllowUnexported(record{}))
		expect.Equal(t, p.r.Offset()-at, int64(size))
	}
	expect.OK(t, p.r.Err())
}

// parserOf returns a parser of a file in memory.
func parserOf(file []byte) *parser {
	return &parser{r: wire.NewRecord(formatName, file, 0), f: &parsed{}}
}
