package mag

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/formattest"
	"github.com/weightmap/weightmap/tensor"
)

// structural is what checksums cover: everything before the data.
func structural(b []byte) []formattest.Range {
	f, err := OpenBytes(b, nil)
	if err != nil {
		panic(err)
	}
	return []formattest.Range{{From: 0, To: int(f.end)}}
}

func everything(b []byte) []formattest.Range {
	f, err := OpenBytes(b, nil)
	if err != nil {
		panic(err)
	}
	r := structural(b)
	for i := range f.Len() {
		t := f.Info(i)
		r = append(r, formattest.Range{From: int(t.Offset), To: int(t.Offset + t.Size)})
	}
	return r
}

func TestConformance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	base := []tensor.DType{tensor.Float32, tensor.Float16, tensor.Bool, tensor.Int32}
	small := formattest.RandomPlan(r, formattest.PlanOptions{DTypes: base, MinRank: 1})
	small.Metadata = format.Metadata{{Key: "epochs", Value: int64(7)}, {Key: "lr", Value: 0.25}, {Key: "xxh64/none", Value: int64(1)}}
	extended := formattest.RandomPlan(r, formattest.PlanOptions{DTypes: dtypesV1[16:], MinRank: 1})
	tied := formattest.RandomPlan(r, formattest.PlanOptions{DTypes: base[:1], MinRank: 2, Tensors: 6})
	snap := formattest.RandomPlan(r, formattest.PlanOptions{DTypes: dtypesSnapshot[:]})
	formattest.Run(t, formattest.Config{
		Codec:    &codec,
		Trailing: true, ZeroCopy: true,
		Samples: []formattest.Sample{
			{Name: "small", Plan: small, Structural: everything},
			{Name: "empty", Plan: &format.Plan{}, Structural: structural},
			{Name: "metadata", Plan: &format.Plan{Metadata: small.Metadata}, Structural: structural},
			{Name: "extended", Plan: extended, Codec: (&WriteOptions{Extended: true, Checksum: CRC32}).codec(), Structural: everything},
			{Name: "plain", Plan: small, Codec: (&WriteOptions{NoDigests: true, NoSharing: true}).codec(), Structural: structural},
			{Name: "tied", Plan: tied, Structural: everything, Data: func(t tensor.Info) []byte {
				return bytes.Repeat([]byte{byte(len(t.Name) % 2)}, int(t.Size))
			}},
		},
	})
	formattest.Run(t, formattest.Config{
		Codec:    &codec,
		Reorders: true, ZeroCopy: true,
		Samples: []formattest.Sample{
			{Name: "snapshot", Plan: snap, Codec: (&WriteOptions{Snapshot: true}).codec(), Structural: structural},
			{Name: "snapshot empty", Plan: &format.Plan{}, Codec: (&WriteOptions{Snapshot: true}).codec(), Structural: structural},
		},
	})
}
