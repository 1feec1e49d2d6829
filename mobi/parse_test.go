package mobi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func TestReadGolden(t *testing.T) {
	b := small().bytes()
	f := openImage(t, b)
	header := Header{
		Magic: 0x4D4F4249, Version: 1, Checksum: binary.LittleEndian.Uint32(b[8:]), Flags: 0x8000_0001,
		FileSize: uint32(len(b)), MetadataOffset: 32, TensorOffset: atTensors, GraphOffset: atGraph,
	}
	expect.Equal(t, header, f.Header())
	want := schema.Metadata{
		{Key: "name", Value: "modèl"}, {Key: "framework_version", Value: int64(0x0102)},
		{Key: "creation_timestamp", Value: int64(1) << 40}, {Key: "flags", Value: int64(0x8000_0001)},
	}
	expect.Equal(t, want, expect.Got(t, f.Metadata))
	specs := [][]Spec{{{"x", Float32, []uint64{Dynamic, 2}}}, {{"y", 77, []uint64{}}}}
	expect.Equal(t, specs, [][]Spec{f.Inputs(), f.Outputs()})
}

// packed returns a file with two compressed constants.
func packed() []byte {
	return with(func(m *image) {
		m.records = append(m.records, recordOf(1, 0x8002, []uint64{1000}, corpus.Gzip(make([]byte, 1000))), recordOf(2, 0x8000, []uint64{500}, corpus.Gzip(make([]byte, 2000))))
	})
}

// TestCoverage checks which checksum Verify reports for each part.
func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		file        []byte
		header, all string
	}{
		{packed(), "crc32", "adler32 of the file"},
		{with(func(m *image) { m.crc, m.noSum = true, true }), "crc32 of the file", "crc32 of the file"},
	} {
		got, err := openImage(t, c.file).Verify(t.Context(), &format.VerifyOptions{Tensors: []string{"7"}})
		expect.OK(t, err)
		want := []format.Covered{{Name: "header", By: c.header}, {Name: "metadata and operators", By: c.all}, {Name: "7", By: c.all}}
		if d := cmp.Diff(want, slices.AppendSeq(got.Sections(), got.Tensors())); d != "" || got.String() != "ok" {
			t.Errorf("%v (-want +got)\n%s", got, d)
		}
	}
}

func openRemote(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := openReaderAt(bytes.NewReader(b), int64(len(b)), nil)
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func flipped(b []byte, fromEnd int) []byte {
	b[len(b)-fromEnd] ^= 1
	return b
}

// TestStructureLimit checks that a structure too large for memory is refused.
func TestStructureLimit(t *testing.T) {
	const size = driver.MaxStructure + 100
	h := le("IBOM", uint16(1), uint16(0), uint32(0), []uint32{0, size, 32, 56, 56})
	_, err := openReaderAt(corpus.Beginning(h), size, nil)
	var e *tensor.Error
	if !errors.Is(err, format.ErrLimit) || !errors.As(err, &e) || e.Field != "metadata and operator graph" {
		t.Error(err)
	}
}
