package tsr

import (
	"fmt"
	"math"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Format: Format{}, Ext: ".tsr", Alone: "tensor"}
	for _, c := range malformed {
		f := file(1, 3, [4]int32{1, 2, 3, 4}, floats(24))
		c.mutate(&f)
		s.Cases = append(s.Cases, corpus.Refused(c.name, f.bytes(), c.err, c.field, c.offset))
	}
	whole := file(2, 1, [4]int32{1, 1, 1, 9}, int8s(9)).bytes()
	for _, c := range []struct {
		size   int
		field  string
		offset int64
	}{
		{0, "magic", 0}, {4, "version", 4}, {15, "reserved_1", 12},
		{23, "ndim", 20}, {39, "dims[3]", 36}, {47, "total_elements", 40},
		{63, "reserved_3", 56}, {64, "data", 64}, {72, "data", 72},
	} {
		s.Cases = append(s.Cases, corpus.Refused(fmt.Sprintf("cut to %d bytes", c.size), whole[:c.size], format.ErrTruncated, c.field, c.offset))
	}
	for _, c := range golden {
		s.Cases = append(s.Cases, accepted(c.name, c.file, c.dtype, c.shape...))
	}
	nan := []byte{0, 0, 0xc0, 0x7f, 1, 0, 0x80, 0x7f, 0, 0, 0, 0x80} // quiet, signaling, -0
	s.Cases = append(s.Cases,
		accepted("NaN and -0 are bits", file(1, 1, [4]int32{1, 1, 1, 3}, nan), tensor.Float32, 3),
		accepted("leading dims of 1 within ndim", file(2, 4, [4]int32{1, 1, 1, 2}, int8s(2)), tensor.Int8, 1, 1, 1, 2),
		accepted("empty, first dim of 0", file(1, 2, [4]int32{1, 1, 0, 4}, nil), tensor.Float32, 0, 4),
		accepted("largest dim beside 0", file(2, 2, [4]int32{1, 1, math.MaxInt32, 0}, nil), tensor.Int8, math.MaxInt32, 0),
	)
	s.Cases = append(s.Cases, directories()...)
	s.Run(t)
}

func accepted(name string, f fields, d tensor.DType, shape ...int64) corpus.Case {
	return corpus.Case{Name: name, Bytes: f.bytes(), Version: "1", Tensors: []corpus.Tensor{corpus.Of("", d, f.data, shape...)}}
}

// directories returns the cases of models in several files.
func directories() []corpus.Case {
	bytewise := func(names ...string) (all []corpus.Tensor) {
		for _, n := range names {
			all = append(all, corpus.Of(n, tensor.Int8, int8s(3), 3))
		}
		return all
	}
	return []corpus.Case{
		{Name: "directory", Version: "1", Files: map[string][]byte{
			"fc.weight.tsr": file(1, 2, [4]int32{1, 1, 3, 4}, floats(12)).bytes(),
			"fc.bias.tsr":   file(3, 1, [4]int32{1, 1, 1, 3}, int32s(3)).bytes(),
			"empty.tsr":     file(2, 2, [4]int32{1, 1, 0, 3}, nil).bytes(),
			"a.tsr.tsr":     good,
		}, Tensors: []corpus.Tensor{
			corpus.Of("a.tsr", tensor.Int8, int8s(3), 3), corpus.Of("empty", tensor.Int8, nil, 0, 3),
			corpus.Of("fc.bias", tensor.Int32, int32s(3), 3), corpus.Of("fc.weight", tensor.Float32, floats(12), 3, 4),
		}},
		{Name: "directory of one", Version: "1", Files: map[string][]byte{"w.tsr": good}, Tensors: bytewise("w")},
		{Name: "directory with other files", Version: "1", Files: map[string][]byte{"w.tsr": good, "readme.txt": []byte("text"), "tsr": nil, "w.tsr.tmp": nil},
			Tensors: bytewise("w"), Notes: []string{`ignored, not regular .tsr files: ["readme.txt" "tsr" "w.tsr.tmp"]`}},
		{Name: "directory in a directory", Version: "1", Files: map[string][]byte{"w.tsr": good, "sub.tsr/w.tsr": good},
			Tensors: bytewise("w"), Notes: []string{`ignored, not regular .tsr files: ["sub.tsr"]`}},
		{Name: "directory in bytewise order", Version: "1", Files: map[string][]byte{"b.tsr": good, "a-.tsr": good, "a.tsr": good, "z.tsr": good},
			Tensors: bytewise("a-", "a", "b", "z")},

		{Name: "directory without a member", Files: map[string][]byte{"readme.txt": nil}, Err: format.ErrCorrupt, Field: "directory", Offset: -1},
		{Name: "directory with a short member", Files: map[string][]byte{"a.tsr": good, "b.tsr": good[:66], "c.tsr": good},
			Err: format.ErrTruncated, Field: "data", Offset: 66, In: "b.tsr"},
		{Name: "directory with an empty member", Files: map[string][]byte{"a.tsr": good, "b.tsr": nil}, Err: format.ErrTruncated, Field: "magic", In: "b.tsr"},
		{Name: "directory with a foreign member", Files: map[string][]byte{"a.tsr": []byte("not a tensor")}, Err: format.ErrMagic, Field: "magic", In: "a.tsr"},
		{Name: "directory with a member of version 2", Files: map[string][]byte{"a.tsr": good, "b.tsr": versionTwo()}, Err: format.ErrVersion, Field: "version", Offset: 4, In: "b.tsr"},
		{Name: "directory with a member without a name", Files: map[string][]byte{".tsr": good, "a.tsr": good}, Err: format.ErrCorrupt, Field: "file name", Offset: -1, In: ".tsr"},
	}
}

func versionTwo() []byte {
	f := file(2, 1, [4]int32{1, 1, 1, 3}, int8s(3))
	f.version = 2
	return f.bytes()
}
