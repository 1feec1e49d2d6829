package zip_test

import (
	stdzip "archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/torch"
	"github.com/weightmap/weightmap/internal/expect"
)

// member is an entry of an archive to write.
type member struct {
	name, content string
	method        uint16
	descriptor    bool // sizes follow the data
}

// archive returns an archive that another implementation writes.
func archive(f testing.TB, members ...member) []byte {
	var b bytes.Buffer
	w := stdzip.NewWriter(&b)
	for _, m := range members {
		h := &stdzip.FileHeader{Name: m.name, Method: m.method}
		var e io.Writer
		var err error
		if m.descriptor || m.method != stdzip.Store {
			e, err = w.CreateHeader(h)
		} else {
			h.UncompressedSize64 = uint64(len(m.content))
			h.CompressedSize64 = h.UncompressedSize64
			e, err = w.CreateRaw(h)
		}
		expect.OK(f, err)
		_, err = io.WriteString(e, m.content)
		expect.OK(f, err)
	}
	expect.OK(f, w.Close())
	return b.Bytes()
}

// FuzzArchive opens any bytes as archives of NumPy and PyTorch: what lies in the file lies in its bounds, and what is
// decompressed has the size of its shape.
func FuzzArchive(f *testing.F) {
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
	array := fmt.Sprintf("\x93NUMPY\x01\x00\x76\x00%-117s\n%s", header, strings.Repeat("\x00\x00\x80\x3f", 6))
	pickle := "\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQK\x00(K\x06t(K\x01t\x89ccollections\nOrderedDict\n)RtRs."
	f.Add(archive(f, member{"a.npy", array, stdzip.Store, false}, member{"b.npy", array, stdzip.Deflate, false}))
	f.Add(archive(f, member{"a.npy", array, stdzip.Store, true}))
	f.Add(archive(f, member{"m/data.pkl", pickle, stdzip.Store, false}, member{"m/data/0", strings.Repeat("abcd", 6), stdzip.Store, false}, member{"m/version", "3\n", stdzip.Deflate, false}))
	f.Add(archive(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, kind := range []format.Format{npy.Archive{}, torch.Format{}} {
			m, err := format.OpenBytes(b, &format.Options{Format: kind, MaxMemory: 32 << 20})
			if err != nil {
				continue
			}
			for name, v := range m.Tensors() {
				info := v.Info()
				if info.Offset >= 0 {
					if info.Offset > int64(len(b)) || info.Size > int64(len(b))-info.Offset {
						t.Errorf("%q: %d bytes at %d of %d", name, info.Size, info.Offset, len(b))
					}
					continue
				}
				got, err := v.Bytes()
				if err == nil && int64(len(got)) != info.Size {
					t.Errorf("%q: %d bytes, not %d", name, len(got), info.Size)
				}
			}
			expect.OK(t, m.Close())
		}
	})
}
