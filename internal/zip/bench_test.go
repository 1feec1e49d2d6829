package zip_test

import (
	stdzip "archive/zip"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/torch"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
)

// BenchmarkTorch opens 10,000 tensors of a .pt, relative to as many of an .npz.
func BenchmarkTorch(b *testing.B) {
	const n = 10_000
	header := fmt.Sprintf("\x93NUMPY\x01\x00\x76\x00%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }")
	data := strings.Repeat("abcd", 4)
	text := func(s string) string { return "X" + string(rune(len(s))) + "\x00\x00\x00" + s }
	var pickle strings.Builder
	pickle.WriteString("\x80\x02}(")
	var arrays, storages []member
	for i := range n {
		key := strconv.Itoa(i)
		name := "layer." + key + ".weight"
		arrays = append(arrays, member{name + ".npy", header + data, stdzip.Store, false})
		storages = append(storages, member{"m/data/" + key, data, stdzip.Store, false})
		pickle.WriteString(text(name) + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" + text(key) + text("cpu") +
			"K\x04tQK\x00(K\x02K\x02t(K\x02K\x01t\x89ccollections\nOrderedDict\n)RtR")
	}
	pickle.WriteString("u.")
	storages = append([]member{{"m/data.pkl", pickle.String(), stdzip.Store, true}}, storages...)
	opening := func(kind format.Format, file []byte) func() error {
		return func() error {
			m, err := format.OpenBytes(file, &format.Options{Format: kind})
			if err != nil {
				return err
			}
			expect.Equal(b, n, m.Len())
			return m.Close()
		}
	}
	floor.Pairs(b, opening(torch.Format{}, archive(b, storages...)), opening(npy.Archive{}, archive(b, arrays...)))
}
