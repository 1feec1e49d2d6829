package mag

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Format: Format{}, Ext: ".mag"}
	for _, c := range malformedV1 {
		s.Cases = append(s.Cases, corpus.Refused(c.name, v1With(c.mutate), c.err, c.field, c.offset))
	}
	for _, c := range malformedSnapshot {
		s.Cases = append(s.Cases, corpus.Refused("snapshot "+c.name, snapWith(c.mutate), c.err, c.field, c.offset))
	}
	s.Cases = append(s.Cases, corpus.Refused("snapshot cut to 30 bytes", snapWith(func(*snapFile) {})[:30], format.ErrTruncated, "tensor_count", 28))
	whole := v1With(func(*v1File) {})
	for _, c := range []struct {
		size   int
		field  string
		offset int64
	}{
		{0, "magic", 0}, {3, "magic", 0}, {6, "version", 4}, {10, "checksum", 8}, {20, "aux", 20},
		{40, "num_meta_kv", 16}, {110, "num_tensors", 12}, {131, "tensor key", 131}, {132, "tensor offset", recX + 12}, {259, "tensor offset", recY + 12},
	} {
		s.Cases = append(s.Cases, corpus.Refused(fmt.Sprintf("cut to %d bytes", c.size), whole[:c.size], format.ErrTruncated, c.field, c.offset))
	}
	s.Cases = append(s.Cases, damagedData()...)
	s.Cases = append(s.Cases, goodV1()...)
	s.Cases = append(s.Cases, goodSnapshots()...)
	s.Run(t)
}

// damagedData returns files with changed data, which only their digests detect.
func damagedData() []corpus.Case {
	digest := func(mutate func(*v1File)) []byte {
		f := goldenV1()
		mutate(&f)
		return f.bytes()
	}
	return []corpus.Case{
		{Name: "data changed", Late: true, Err: format.ErrChecksum, Field: `tensor "w"`, Offset: 320,
			Bytes: digest(func(f *v1File) {
				f.tensors[0].data = floats(7)[4:]
			})},
		{Name: "digest changed", Late: true, Err: format.ErrChecksum, Field: `tensor "Größe"`, Offset: 448,
			Bytes: digest(func(f *v1File) { f.metadata[5].payload ^= 1 << 63 })},
		{Name: "digest 0", Late: true, Err: format.ErrChecksum, Field: `tensor "Größe"`, Offset: 448,
			Bytes: digest(func(f *v1File) { f.metadata[5].payload = 0 })},
	}
}

var four = []byte{1, 2, 3, 4}

// x and y are the tensors of baseV1.
func x() corpus.Tensor { return corpus.Of("x", tensor.Float32, floats(6), 2, 3) }
func y() corpus.Tensor { return corpus.Of("y", tensor.Float16, four, 2) }

// The dtypes by code. Version 1 has four of the reference, and extensions from 16.
var (
	codesV1 = [25]tensor.DType{
		tensor.Float32, tensor.Float16, tensor.Bool, tensor.Int32,
		16: tensor.BFloat16, tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16, tensor.Uint32, tensor.Int64, tensor.Uint64, tensor.Float64,
	}
	codesSnapshot = []tensor.DType{
		tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Bool, tensor.Uint8, tensor.Int8,
		tensor.Uint16, tensor.Int16, tensor.Uint32, tensor.Int32, tensor.Uint64, tensor.Int64,
	}
)

func goodV1() []corpus.Case {
	good := func(name string, mutate func(*v1File), tensors ...corpus.Tensor) corpus.Case {
		if tensors == nil {
			tensors = []corpus.Tensor{x(), y()}
		}
		return corpus.Case{Name: name, Bytes: v1With(mutate), Version: "1", Tensors: tensors}
	}
	noted := func(c corpus.Case, notes ...string) corpus.Case { c.Notes = notes; return c }
	longKey := strings.Repeat("ü", maxKey/2) + "u"
	golden, empty := goldenV1(), v1File{magic: "MAG!", version: 1}
	cases := []corpus.Case{
		good("plain", func(*v1File) {}),
		{Name: "empty", Bytes: empty.bytes(), Version: "1"},
		{Name: "digests", Bytes: golden.bytes(), Version: "1", Tensors: []corpus.Tensor{
			corpus.Of("w", tensor.Float32, floats(6), 2, 3), corpus.Of("tied", tensor.Int32, floats(6), 6), corpus.Of("Größe", tensor.Bool, []byte{1, 2, 3}, 3),
		}},
		noted(good("CRC-32 of the wording", func(f *v1File) { f.sumForm = ieeeWhole }),
			"checksum is CRC-32 (IEEE) of header and records, not the reference's CRC-32C from byte 12"),
		noted(good("CRC-32 from byte 12", func(f *v1File) { f.sumForm = ieeeFrom12 }),
			"checksum is CRC-32 (IEEE) from byte 12, not the reference's CRC-32C"),
		noted(good("CRC-32C of header and records", func(f *v1File) { f.sumForm = castagnoliWhole }),
			"checksum is CRC-32C of header and records, not the reference's from byte 12"),
		noted(good("trailing bytes", func(f *v1File) { f.tail = repeated(0, 100) }), "40 bytes follow the last tensor"),
		good("gap of other bytes", func(f *v1File) { f.tensors[1].offset, f.gap = 320, 0xA5 }),
		good("shared data", func(f *v1File) { f.tensors[1].offset, f.tensors[1].data = 192, nil },
			x(), corpus.Of("y", tensor.Float16, floats(6)[:4], 2)),
		good("overlapping data", func(f *v1File) { f.tensors[1].offset, f.tensors[1].data = 200, nil },
			x(), corpus.Of("y", tensor.Float16, floats(6)[8:12], 2)),
		noted(good("misaligned data", func(f *v1File) { f.tensors[1].offset, f.tensors[1].data = 201, nil },
			x(), corpus.Of("y", tensor.Float16, floats(6)[9:13], 2)), "1 tensor is not aligned: views are copies"),
		good("data right behind the records", func(f *v1File) {
			f.tensors[1].offset = recEnd
			f.tensors[0], f.tensors[1] = f.tensors[1], f.tensors[0]
		}, y(), x()),
		good("data before those of earlier tensors", func(f *v1File) {
			f.tensors[1].offset, f.tensors[1].data = 256, nil
			f.tensors[0].data = append(floats(6), append(repeated(0xFF, 40), four...)...)
		}),
		good("SRP! at byte 32 by coincidence", func(f *v1File) { f.metadata[0].payload = 0x2150525300000000 }),
		good("a tensor and an entry of one key", func(f *v1File) { f.metadata[0].key = "x" }),
		good("digest-like entries", func(f *v1File) {
			f.metadata = []v1Entry{{1, 1, "xxh64/"}, {1, 2, "xxh64/none"}, {2, 3, "xxh64/x"}, {2, 4, "xxh64/z"}, {1, 5, "XXH64/x"}}
			f.tensors[0].offset, f.tensors[1].offset = 256, 320
		}),
		good("rank 255", func(f *v1File) {
			f.tensors[1].aux[1], f.tensors[1].shape = 255, append(slices.Repeat([]uint64{1}, 254), 2)
			f.tensors[0].offset, f.tensors[1].offset = 2240, 2304
		}, x(), corpus.Of("y", tensor.Float16, four, append(slices.Repeat([]int64{1}, 254), 2)...)),
		good("longest keys", func(f *v1File) {
			f.tensors[1].key, f.metadata[1].key = longKey, strings.Repeat("k", maxKey)
			f.tensors[0].offset, f.tensors[1].offset = 140032, 140096
		}, x(), corpus.Of(longKey, tensor.Float16, four, 2)),
		good("bool bytes", func(f *v1File) {
			f.tensors[1].aux, f.tensors[1].numel, f.tensors[1].shape = [4]byte{2, 1}, 4, []uint64{4}
		}, x(), corpus.Of("y", tensor.Bool, four, 4)),
	}
	for code, d := range codesV1 {
		if d == tensor.Invalid {
			continue
		}
		data := repeated(1, 2*int(d.Size()))
		cases = append(cases, good("dtype "+d.String(), func(f *v1File) {
			f.tensors[1] = v1Tensor{aux: [4]byte{byte(code), 1}, numel: 2, offset: 256, shape: []uint64{2}, key: "y", data: data}
		}, x(), corpus.Of("y", d, data, 2)))
	}
	return cases
}

func goodSnapshots() []corpus.Case {
	first := corpus.Of("y", tensor.Float32, floats(6), 2, 3)
	second := corpus.Of("x", tensor.Int64, repeated(1, 8))
	good := func(name string, mutate func(*snapFile), tensors ...corpus.Tensor) corpus.Case {
		if tensors == nil {
			tensors = []corpus.Tensor{first, second}
		}
		return corpus.Case{Name: "snapshot " + name, Bytes: snapWith(mutate), Version: "0.1.0", Tensors: tensors}
	}
	golden, empty := goldenSnapshot(), snapFile{magic: "MAG!", version: 100, stamp: 1709210096, marks: snapMarks}
	longKey := strings.Repeat("k", 70_000)
	all := snapFile{magic: "MAG!", version: 100, marks: snapMarks}
	var dtypes []corpus.Tensor
	for code, d := range codesSnapshot {
		data := bytes.Repeat([]byte{byte(code + 1)}, int(d.Size()))
		offset := uint64(0)
		for _, t := range all.tensors {
			offset += uint64(len(t.data))
		}
		all.pool = append(all.pool, d.String())
		all.tensors = append(all.tensors, snapTensor{rank: 1, dtype: uint8(code), key: uint32(code), numel: 1, offset: offset, shape: []uint64{1}, data: data})
		dtypes = append(dtypes, corpus.Of(d.String(), d, data, 1))
	}
	return []corpus.Case{
		good("plain", func(*snapFile) {}),
		{Name: "snapshot empty", Bytes: empty.bytes(), Version: "0.1.0"},
		{Name: "snapshot aligned by an unreferenced string", Bytes: golden.bytes(), Version: "0.1.0", Tensors: []corpus.Tensor{
			corpus.Of("long", tensor.Int64, repeated(7, 8), 1), corpus.Of("w", tensor.Float32, floats(6), 2, 3),
			corpus.Of("scalar", tensor.BFloat16, []byte{0x80, 0x3F}), corpus.Of("flags", tensor.Bool, []byte{1, 0, 2}, 3),
		}},
		{Name: "snapshot all dtypes", Bytes: all.bytes(), Version: "0.1.0", Tensors: dtypes},
		good("aux", func(f *snapFile) { f.aux = 7; f.tensors[0].aux = 0xFFFF }),
		good("rank 16", func(f *snapFile) {
			f.tensors[0].rank, f.tensors[0].shape = 16, append(slices.Repeat([]uint64{1}, 15), 6)
		}, corpus.Of("y", tensor.Float32, floats(6), append(slices.Repeat([]int64{1}, 15), 6)...), second),
		good("long key", func(f *snapFile) { f.pool[0] = longKey }, first, corpus.Of(longKey, tensor.Int64, repeated(1, 8))),
		good("timestamp", func(f *snapFile) { f.stamp = 1<<64 - 1 }),
		good("misaligned", func(f *snapFile) { f.pool[1] = "spar" }),
	}
}
