package mle

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestCoverage checks which checksum Verify reports for each part.
func TestCoverage(t *testing.T) {
	old := plainGolden()
	old.version = 1
	bare := func(g *gFile) *gFile { g.noSums = true; return g }
	signed := format.WriteOptions{Signer: testSigner}
	key := &format.Options{Key: testKey}
	sealed := func(o format.WriteOptions) []byte {
		o.Key = testKey
		b := written(t, floatSchema(), &o)
		le.PutUint32(b[104:], 0) // no checksum of the weights
		fixHeader(b)
		return b
	}
	const bareLevel = "ok, but nothing covers the level and quantization_bits of the compression section"
	for _, tt := range []struct {
		name     string
		file     []byte
		opts     *format.VerifyOptions
		sections string // covers the header
		tensors  string // covers all tensors
		n        int
		state    format.SignatureState
		says     string
	}{
		{"plain", plainGolden().build(), nil, "crc32", "crc32 of the weights", 2, format.Unsigned, "ok"},
		{"chunked", chunkedGolden(corpus.Zstd, MethodZstd).build(), nil, "crc32", "crc32 of the chunk", 2, format.Unsigned, bareLevel},
		{"compressed and signed", signedBy(zstdGolden(), testSigner), nil, "crc32", "crc32 of the weights", 2, format.SignatureUnknown, "ok"},
		{"compressed without sums", bare(zstdGolden()).build(), nil, "", "crc32 of the uncompressed weights", 2, format.Unsigned, "ok, but nothing covers the header, the metadata, the graph or the level and quantization_bits of the compression section"},
		{"plain without sums", bare(plainGolden()).build(), nil, "", "", 2, format.Unsigned, "ok, but nothing covers the header, the metadata, the graph or the data of 2 tensors"},
		{"version 1", old.build(), nil, "", "", 2, format.Unsigned, "ok, but nothing covers the header, the metadata, the graph or the data of 2 tensors"},
		{"signed without sums", signedBy(bare(plainGolden()), testSigner), nil, "sha256 of the file", "sha256 of the file", 2, format.SignatureUnknown, "ok"},
		{"trusted", written(t, floatSchema(), &signed), &format.VerifyOptions{Trusted: format.TrustKey(trusted(testSigner))}, "crc32", "crc32 of the weights", 4, format.SignatureTrusted, "ok"},
		{"encrypted", sealed(format.WriteOptions{}), nil, "crc32", "AES-256-GCM", 4, format.Unsigned, bareLevel},
		{"encrypted and chunked", sealed(format.WriteOptions{Compression: "zstd", Format: Format{Chunked: true}}), nil, "crc32", "crc32 of the chunk", 4, format.Unsigned, bareLevel},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, tt.file, key)
			c, err := f.Verify(context.Background(), tt.opts)
			expect.OK(t, err)
			want := []format.Covered{{Name: "header", By: tt.sections}, {Name: "metadata", By: tt.sections}, {Name: "graph", By: tt.sections}}
			if _, isCompressed := f.Compression(); isCompressed {
				by := ""
				if tt.state != format.Unsigned {
					by = "sha256 of the file"
				}
				want = append(want, format.Covered{Name: "level and quantization_bits of the compression section", By: by})
			}
			expect.Equal(t, want, c.Sections())
			all := slices.Collect(c.Tensors())
			for _, covered := range all {
				if covered.By != tt.tensors {
					t.Errorf("tensor %s is covered by %q, want %q", covered.Name, covered.By, tt.tensors)
				}
			}
			if len(all) != tt.n || c.Signature() != tt.state || c.String() != tt.says {
				t.Errorf("%d tensors, %v, %v", len(all), c.Signature(), c)
			}
		})
	}
}

// TestCompressionHeader flips every bit of the header of a compression section without a signature. What is not the
// level, which Verify reports as uncovered, is an error; quantization_bits is too, because the type says what it is.
func TestCompressionHeader(t *testing.T) {
	for name, g := range map[string]*gFile{
		"zstd": zstdGolden(), "chunked": chunkedGolden(corpus.Zstd, MethodZstd), "int8": int8Golden(), "float16": halfGolden(),
		"none": compressedGolden(MethodNone, plainGolden().weights),
	} {
		good := g.build()
		expect.OK(t, verify(mustOpen(t, good, nil)))
		at := int(le.Uint64(good[80:]))
		var unnoticed []int
		for bit := range 8 * 20 {
			b := bytes.Clone(good)
			b[at+bit/8] ^= 1 << (bit % 8)
			f, err := openBytes(b, nil)
			if err != nil {
				continue
			}
			if verify(f) == nil && (len(unnoticed) == 0 || unnoticed[len(unnoticed)-1] != bit/8) {
				unnoticed = append(unnoticed, bit/8)
			}
			f.Close()
		}
		if diff := cmp.Diff([]int{1}, unnoticed); diff != "" {
			t.Errorf("%s: bytes of the section that nothing checks (-want +got)\n%s", name, diff)
		}
	}
}

// TestCheckTouch checks that no byte is returned before its checksum is compared, and
// that a chunk is checked without the others.
func TestCheckTouch(t *testing.T) {
	flipped := func(g *gFile, at int) []byte {
		b := g.build()
		b[int(le.Uint64(b[48:]))+at] ^= 1
		return b
	}
	sumOff := func(g *gFile) *gFile { le.PutUint32(g.comp[12:], 1); return g }
	unsummed := zstdGolden()
	unsummed.noSums = true
	none := plainGolden()
	none.noSums = true
	for _, tt := range []struct {
		name string
		file []byte
		want map[string]error
	}{
		{"nothing recorded", flipped(none, 0), map[string]error{"w": nil, "b": nil}},
		{"chunked", flipped(chunkedGolden(corpus.Zstd, MethodZstd), 20), map[string]error{"w": format.ErrChecksum, "b": nil}},
		{"compressed", flipped(zstdGolden(), 20), map[string]error{"w": format.ErrChecksum, "b": format.ErrChecksum}},
		{"another sum of what comes out", sumOff(zstdGolden()).build(), map[string]error{"w": format.ErrChecksum, "b": format.ErrChecksum}},
		{"only the sum of what comes out", flipped(unsummed, 20), map[string]error{"w": format.ErrChecksum, "b": format.ErrChecksum}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, want := range tt.want {
				f := mustOpen(t, tt.file, &format.Options{Check: format.CheckTouch})
				for range 2 {
					expect.Refused(t, want, name)(tensor.Decode[float32](nil, view(t, f, name)))
				}
			}
		})
	}
	f := mustOpen(t, written(t, floatSchema(), &format.WriteOptions{Key: testKey, Compression: "zstd"}), &format.Options{Check: format.CheckTouch, Key: testKey})
	for name, v := range f.Tensors() {
		if _, err := v.Bytes(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
