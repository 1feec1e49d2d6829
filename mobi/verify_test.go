package mobi

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
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
		name     string
		file     []byte
		only     []string
		sections []format.Covered
		tensors  []format.Covered
	}{
		{"Adler-32", packed(), nil,
			[]format.Covered{{Name: "header", By: "crc32"}, {Name: "metadata and operators", By: "adler32 of the file"}},
			[]format.Covered{{Name: "9", By: "adler32 of the file"}, {Name: "7", By: "adler32 of the file"}, {Name: "1", By: "adler32 of the file"}, {Name: "2", By: "adler32 of the file"}}},
		{"CRC-32, header sum not recorded", with(func(m *image) { m.crc, m.noSum = true, true }), nil,
			[]format.Covered{{Name: "header", By: "crc32 of the file"}, {Name: "metadata and operators", By: "crc32 of the file"}},
			[]format.Covered{{Name: "9", By: "crc32 of the file"}, {Name: "7", By: "crc32 of the file"}}},
		{"one constant", packed(), []string{"1"},
			[]format.Covered{{Name: "header", By: "crc32"}, {Name: "metadata and operators", By: "adler32 of the file"}},
			[]format.Covered{{Name: "1", By: "adler32 of the file"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, f := range []*File{openImage(t, c.file), openRemote(t, c.file)} {
				got, err := f.Verify(t.Context(), format.WithTensors(c.only...))
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.sections, got.Sections()); d != "" {
					t.Errorf("sections (-want +got)\n%s", d)
				}
				if d := cmp.Diff(c.tensors, slices.Collect(got.Tensors())); d != "" {
					t.Errorf("tensors (-want +got)\n%s", d)
				}
				if got.String() != "ok" {
					t.Errorf("String() = %q", got)
				}
			}
		})
	}
}
