package wia

import (
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// plainTensors compresses only blocks, if there is a Compression.
var plainTensors = Format{CompressTensor: func(tensor.Info) Compression { return None }}

// covered returns the ranges that checksums cover: the header and all blocks but
// the signature block.
func covered(b []byte) []formattest.Range {
	f, err := openBytes(b, &format.Options{Key: testKey})
	if err != nil {
		panic(err)
	}
	defer f.Close()
	var out []formattest.Range
	out = append(out, formattest.Range{From: 0, To: headerSize})
	for _, s := range f.f.hdr.blocks[:signatureBlock] {
		out = append(out, formattest.Range{From: int(s.off), To: int(s.end())})
	}
	return out
}

// foreign returns files that the writer never makes.
func foreign() []formattest.File {
	backwards := small()
	backwards.gap, backwards.order = 13, []int{3, 2, 1, 0}
	dataFirst := container{noSums: true, tensor: by(1, by(4, []byte{1, 2, 3}), vi(3, 8), dims(3), st(1, "w"))}
	return []formattest.File{
		{Name: "gaps, backwards", Bytes: backwards.bytes()},
		{Name: "data first, no sums", Bytes: dataFirst.bytes(), VerifyErr: format.ErrChecksum},
		{Name: "misaligned", Bytes: container{tensor: by(1, inline("odd name", 1, make([]byte, 8), 2))}.bytes()},
		{Name: "unknown fields", Bytes: odd().bytes()},
	}
}

func TestConformance(t *testing.T) {
	full, s := sampleSchema(t), tinySchema()
	formattest.Run(t, formattest.Config{
		Format: Format{}, ZeroCopy: true, Align: alignment, Files: foreign(), MaxAllocs: 54,
		Samples: []formattest.Sample{
			{Name: "full", Schema: full},
			{Name: "plain", Schema: s, Structural: covered},
			{Name: "empty", Schema: &schema.Schema{}, Structural: covered},
			{Name: "gzip blocks", Schema: s, Structural: covered, Slack: 1 << 20,
				Write: &format.WriteOptions{Compression: "gzip", Format: plainTensors}},
			{Name: "zstd blocks", Schema: s, Structural: covered, Slack: 4 << 20,
				Write: &format.WriteOptions{Compression: "zstd", Format: plainTensors}},
		},
	})
	formattest.Run(t, formattest.Config{
		Format: Format{}, MaxAllocs: 54,
		Samples: []formattest.Sample{
			{Name: "full compressed", Schema: full, Slack: 4 << 20,
				Write: &format.WriteOptions{Compression: "zstd", Format: Format{CompressTensor: alternate}}},
			{Name: "gzip", Schema: s, Structural: covered, Write: &format.WriteOptions{Compression: "gzip"}, Slack: 1 << 20},
			{Name: "tensors", Schema: s, Structural: covered, Slack: 4 << 20,
				Write: &format.WriteOptions{Format: Format{CompressTensor: alternate}}},
			{Name: "encrypted", Schema: s, Structural: covered, Write: &format.WriteOptions{Key: testKey},
				Options: &format.Options{Key: testKey}, Random: true},
			{Name: "all", Schema: s, Options: &format.Options{Key: testKey}, Random: true, Slack: 4 << 20,
				Write: &format.WriteOptions{Compression: "gzip", Key: testKey, Signer: rsaSigner,
					Format: Format{CompressTensor: alternate}}},
			{Name: "ecdsa", Schema: s, Structural: covered, Write: &format.WriteOptions{Signer: ecKey}},
		},
	})
}
