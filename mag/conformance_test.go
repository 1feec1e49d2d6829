package mag

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// structural returns the range that the header's checksum covers: everything
// before the data.
func structural(b []byte) []formattest.Range { return everything(b)[:1] }

// everything returns structural and the ranges of the data, for files with digests.
func everything(b []byte) []formattest.Range {
	f, err := openBytes(b, nil)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	r := []formattest.Range{{From: 0, To: int(f.f.end)}}
	for _, v := range f.Tensors() {
		t := v.Info()
		r = append(r, formattest.Range{From: int(t.Offset), To: int(t.Offset + t.Size)})
	}
	return r
}

// foreign returns version 1 files that the writer never makes: with misaligned data
// behind a hole, trailing bytes, and data in another order, and with shared data.
func foreign() []formattest.File {
	s := &schema.Schema{
		Metadata: schema.Metadata{{Key: "a", Value: int64(7)}, {Key: "b", Value: 0.0}},
		Tensors: []tensor.Info{
			{Name: "y", DType: tensor.Float16, Shape: tensor.Shape{2}}, {Name: "x", DType: tensor.Float32, Shape: tensor.Shape{2, 3}},
		},
	}
	scattered := v1With(func(f *v1File) {
		f.tensors[0].offset, f.tensors[1].offset = 2049, 192
		f.tensors[0], f.tensors[1] = f.tensors[1], f.tensors[0]
		f.tail = repeated(0, 100)
	})
	return []formattest.File{
		{Name: "scattered", Bytes: scattered, Schema: s, Data: map[string][]byte{"x": floats(6), "y": {1, 2, 3, 4}}},
		{Name: "overlapping", Bytes: v1With(func(f *v1File) { f.tensors[1].offset, f.tensors[1].data = 194, nil })},
	}
}

func TestConformance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	base := []tensor.DType{tensor.Float32, tensor.Float16, tensor.Bool, tensor.Int32}
	small := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: base, MinRank: 1})
	small.Metadata = schema.Metadata{{Key: "epochs", Value: int64(7)}, {Key: "lr", Value: 0.25}, {Key: "xxh64/none", Value: int64(1)}}
	long := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: base, MinRank: 1, Tensors: 3, Name: formattest.LongName})
	extended := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: dtypesV1[firstExtended:endExtended], MinRank: 1})
	tied := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: base[:1], MinRank: 2, Tensors: 6})
	snap := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: dtypesSnapshot[:snapDTypes], Tensors: 3, Name: formattest.LongName})
	const shared = "tensors may share bytes"
	t.Run("version 1", func(t *testing.T) {
		formattest.Run(t, formattest.Config{
			Format:   Format{},
			Trailing: true, ZeroCopy: true, MaxAllocs: 18,
			Exempt: map[string]string{"Overlap": shared},
			Files:  foreign(),
			Samples: []formattest.Sample{
				{Name: "small", Schema: small, Structural: everything},
				{Name: "long", Schema: long, Structural: everything},
				{Name: "empty", Schema: &schema.Schema{}, Structural: structural},
				{Name: "metadata", Schema: &schema.Schema{Metadata: small.Metadata}, Structural: structural},
				{Name: "extended", Schema: extended, Structural: everything,
					Write: &format.WriteOptions{Extended: true, Format: Format{Checksum: CRC32}}},
				{Name: "plain", Schema: small, Structural: structural,
					Write: &format.WriteOptions{Format: Format{NoDigests: true}}},
				{Name: "tied", Schema: tied, Structural: everything, Data: func(t tensor.Info) []byte {
					return bytes.Repeat([]byte{byte(len(t.Name) % 2)}, int(t.Size))
				}},
			},
		})
	})
	t.Run("snapshot", func(t *testing.T) {
		const noSums = "snapshots have no sums of data"
		o := &format.WriteOptions{Format: Format{Snapshot: true}}
		formattest.Run(t, formattest.Config{
			Format:   Format{},
			Reorders: true, ZeroCopy: true, MaxAllocs: 18,
			Exempt: map[string]string{"Overlap": shared, "CoveredData": noSums},
			Samples: []formattest.Sample{
				{Name: "several", Schema: snap, Write: o, Structural: structural},
				{Name: "empty", Schema: &schema.Schema{}, Write: o, Structural: structural},
			},
		})
	})
}

// FuzzOpen opens, verifies and decodes its input.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	formattest.Fuzz(f, formattest.Config{Format: Format{}, Trailing: true})
}
