package mobi

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// packed returns a file with two compressed constants.
func packed() []byte {
	return with(func(m *image) {
		m.records = append(m.records, recordOf(1, 0x8002, []uint64{1000}, zipped(make([]byte, 1000))), recordOf(2, 0x8000, []uint64{500}, zipped(make([]byte, 2000))))
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
		got, err := openImage(t, c.file).Verify(t.Context(), format.WithTensors("7"))
		testhost.Must(t, err)
		want := []format.Covered{{Name: "header", By: c.header}, {Name: "metadata and operators", By: c.all}, {Name: "7", By: c.all}}
		if d := cmp.Diff(want, slices.AppendSeq(got.Sections(), got.Tensors())); d != "" || got.String() != "ok" {
			t.Errorf("%v (-want +got)\n%s", got, d)
		}
	}
}
