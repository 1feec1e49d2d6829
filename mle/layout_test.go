package mle

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/wire"
)

// ascending returns 16-bit numbers that differ from each other, so that no two fields are equal.
func ascending(size int) []byte {
	var b []byte
	for i := range size / 2 {
		b = u16(b, uint16(i+1))
	}
	return b
}

// at32 and at64 are the values of fields of ascending.
func at32(at int) uint32 { return le.Uint32(ascending(at + 4)[at:]) }
func at64(at int) int64  { return int64(le.Uint64(ascending(at + 8)[at:])) }

// TestDocumentedLayout: what reads a record reads the fields of its table in doc.go.
func TestDocumentedLayout(t *testing.T) {
	record := func(b []byte) *wire.Record {
		r := wire.NewRecord(formatName, b, 0)
		return &r
	}
	f, err := openBytes(chunkedGolden(corpus.Zstd, MethodZstd).build(), nil)
	expect.OK(t, err)
	corpus.Documented(t, "# Header, version 2", "", &f.f.fields)
	corpus.Documented(t, "The compression section begins with a header of 20 bytes", "compression ",
		&f.f.comp.fields)
	chunk := f.f.chunkFields(1)
	corpus.Documented(t, "rows of 32 bytes", "", &chunk)

	old := plainGolden()
	old.version = 1
	f, err = openBytes(old.build(), nil)
	expect.OK(t, err)
	corpus.Documented(t, "# Header, version 1", "", &f.f.fields)

	f, err = openBytes(signedBy(plainGolden(), testSigner), nil)
	expect.OK(t, err)
	corpus.Documented(t, "# Signature", "signature ", &f.f.signature.fields)

	graph, err := f.f.src.Slice(f.f.h.Graph.Offset, f.f.h.Graph.Size)
	expect.OK(t, err)
	r := record(graph)
	readGraphHead(r)
	corpus.Documented(t, "# Graph", "", r)
	r = record(make([]byte, descriptorSize))
	readDescriptor(r)
	corpus.Documented(t, "A descriptor, 56 bytes", "", r)
	r = record(make([]byte, nodeSize))
	readNode(r)
	corpus.Documented(t, "A node, 208 bytes", "", r)
}

// TestFieldsOfHeader: each field of the header is read from its place, and written there.
func TestFieldsOfHeader(t *testing.T) {
	b := ascending(headerStruct)
	copy(b, magic+"\x02\x00\x00\x00")
	le.PutUint32(b[12:], headerStruct)
	le.PutUint32(b[112:], maxVersion)
	r := wire.NewRecord(formatName, b, 0)
	r.Skip("magic", 4)
	got := Header{Version: r.U32("version")}
	got.readV2(&r)
	want := Header{
		Version:          2,
		Features:         Features(at32(8)),
		HeaderSize:       headerStruct,
		Metadata:         Section{at64(16), at64(24)},
		Graph:            Section{at64(32), at64(40)},
		Weights:          Section{at64(48), at64(56)},
		Signature:        Section{at64(64), at64(72)},
		Compression:      Section{at64(80), at64(88)},
		MetadataChecksum: at32(96),
		GraphChecksum:    at32(100),
		WeightsChecksum:  at32(104),
		HeaderChecksum:   at32(108),
		MinReaderVersion: maxVersion,
		WriterVersion:    at32(116),
	}
	expect.OK(t, r.Err())
	expect.Equal(t, want, got)

	written := bytes.Clone(b)
	want.put(written)
	copy(written[108:112], b[108:112]) // the checksum
	expect.Equal(t, b, written)
}

// TestFieldsOfRows: each field of a descriptor, a node and a chunk is read from its place.
func TestFieldsOfRows(t *testing.T) {
	b := ascending(descriptorSize)
	le.PutUint32(b[16:], 3) // ndim
	r := wire.NewRecord(formatName, b, 0)
	d := readDescriptor(&r)
	expect.Equal(t, descriptor{
		offset: uint64(at64(0)),
		size:   uint64(at64(8)),
		rank:   3,
		dims:   wire.Uint32s(b[20:52]),
		dtype:  b[52],
	}, d, cmp.AllowUnexported(descriptor{}))

	expect.Equal(t, d, decodeDescriptor(b), cmp.AllowUnexported(descriptor{}))

	b = ascending(nodeSize)
	r = wire.NewRecord(formatName, b, 0)
	n := readNode(&r)
	expect.Equal(t, node{
		op:         1,
		numInputs:  2,
		numOutputs: 3,
		numParams:  4,
		inputs:     wire.Uint32s(b[8:72]),
		outputs:    wire.Uint32s(b[72:136]),
		params:     wire.Uint32s(b[136:200]),
		attrOffset: at32(200),
		attrSize:   at32(204),
	}, n, cmp.AllowUnexported(node{}))

	b = ascending(chunkRow)
	r = wire.NewRecord(formatName, b, 0)
	expect.Equal(t, chunk{at64(0), at64(8), at64(16), at32(24)}, readChunk(&r))
}
