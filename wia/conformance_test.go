package wia

import (
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
)

// with returns a codec that writes with options o.
func with(o WriteOptions) format.Codec { return format.With(fileFormat{opts: o}) }

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
	full, plan := samplePlan(t), tinyPlan()
	formattest.Run(t, formattest.Config{
		Codec: wiaCodec, ZeroCopy: true, Align: alignment, Files: foreign(), MaxAllocs: 40,
		Samples: []formattest.Sample{
			{Name: "full", Schema: full},
			{Name: "plain", Schema: plan, Structural: covered},
			{Name: "empty", Schema: &schema.Schema{}, Structural: covered},
			{Name: "gzip", Schema: plan, Structural: covered, Codec: with(WriteOptions{Compression: Gzip}), Slack: 1 << 20},
			{Name: "zstd", Schema: plan, Structural: covered, Codec: with(WriteOptions{Compression: Zstd}), Slack: 4 << 20},
		},
	})
	formattest.Run(t, formattest.Config{
		Codec: wiaCodec,
		Samples: []formattest.Sample{
			{Name: "full compressed", Schema: full, Codec: with(WriteOptions{Compression: Zstd, CompressTensor: alternate}), Slack: 4 << 20},
			{Name: "tensors", Schema: plan, Structural: covered, Codec: with(WriteOptions{CompressTensor: alternate}), Slack: 4 << 20},
			{Name: "encrypted", Schema: plan, Structural: covered, Codec: with(WriteOptions{Key: testKey}), Options: &format.Options{Key: testKey}, Random: true},
			{Name: "all", Schema: plan, Codec: with(WriteOptions{Compression: Gzip, CompressTensor: alternate, Key: testKey, Signer: rsaSigner}),
				Options: &format.Options{Key: testKey}, Random: true, Slack: 4 << 20},
			{Name: "ecdsa", Schema: plan, Structural: covered, Codec: with(WriteOptions{Signer: ecKey})},
		},
	})
}
