package mle

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Format: Format{}, Ext: ".mle"}
	for _, group := range []struct {
		prefix string
		cases  []malformed
	}{
		{"", headerCases()}, {"metadata: ", metadataCases()}, {"graph: ", graphCases()}, {"compression: ", compressionCases()}, {"chunks: ", chunkCases()},
	} {
		for _, c := range group.cases {
			s.Cases = append(s.Cases, corpus.Refused(group.prefix+c.name, c.mutate(c.file.build()), c.err, c.field, c.offset))
		}
	}
	s.Cases = append(s.Cases, pickles()...)
	s.Cases = append(s.Cases, shiftedCases()...)
	s.Cases = append(s.Cases, streamCases()...)
	s.Cases = append(s.Cases, sumCases()...)
	s.Cases = append(s.Cases, signatureCases()...)
	s.Cases = append(s.Cases, encryptedCases()...)
	s.Cases = append(s.Cases, goodHeaders()...)
	s.Cases = append(s.Cases, goodGraphs()...)
	s.Cases = append(s.Cases, goodWeights()...)
	s.Run(t)
}

// In plainGolden, the metadata is at 128, the graph at 179, the weights at 781 and the
// following section at 853.
const (
	atWeights = 781
	atBehind  = 853
)

// pickles returns containers of Python pickles with the same magic number.
func pickles() []corpus.Case {
	container := func(meta, pickled string) []byte {
		b := u64(u64(u32(u32(nil, 0x00454C4D), 2), uint64(len(meta))), uint64(len(pickled)))
		return slices.Concat(b, []byte(meta), []byte(pickled))
	}
	return []corpus.Case{
		{Name: "pickle", Bytes: container(`{"format":"mle"}`, "\x80\x04K\x01."), Err: format.ErrUnsupported, Field: "magic"},
		{Name: "pickle, nearly", Bytes: container(`{"format":"mle"}`, "\x81\x04K\x01."), Err: format.ErrTruncated, Field: "graph_size", Offset: 40},
	}
}

// shifted returns a version 1 file whose sections are 16 bytes behind their offsets.
func shifted(mutate func([]byte) []byte) []byte {
	g := plainGolden()
	g.version, g.headerSize = 1, 64
	b := g.build()
	return mutate(slices.Concat(b[:64], make([]byte, 16), b[64:]))
}

func shiftedCases() []corpus.Case {
	// If it is not recognized, the file has 16 bytes behind its last section, or its
	// metadata does not begin with a brace.
	return []corpus.Case{
		{Name: "version 1, shifted, no brace at 80", Bytes: shifted(func(b []byte) []byte { b[80] = ' '; return b }), Err: format.ErrCorrupt, Field: "file size", Offset: 789},
		{Name: "version 1, shifted, a byte that is not 0", Bytes: shifted(func(b []byte) []byte { b[70] = 1; return b }), Err: format.ErrCorrupt, Field: "file size", Offset: 789},
		{Name: "version 1, shifted, and a byte more", Bytes: shifted(func(b []byte) []byte { return append(b, 0) }), Err: format.ErrCorrupt, Field: "file size", Offset: 789},
		good("version 1, shifted by 16", shifted(keep), "1"),
	}
}

// streamCases returns files whose weights do not decompress to the declared size.
func streamCases() (cases []corpus.Case) {
	plain := plainGolden().weights
	packs := []struct {
		name   string
		method Method
		pack   func([]byte) []byte
	}{{"lz4", MethodLZ4, lz4Literals}, {"zstd", MethodZstd, corpus.Zstd}, {"brotli", MethodBrotli, brotliRaw}}
	for _, p := range packs {
		for _, s := range []struct {
			name   string
			stream []byte
		}{
			{"one byte less", p.pack(plain[:71])}, {"one byte more", p.pack(append(bytes.Clone(plain), 0))}, {"cut", p.pack(plain)[:40]},
			{"two streams", slices.Concat(p.pack(plain), p.pack(plain))}, {"a byte behind it", append(p.pack(plain), 0)},
			{"text", []byte("this is not a compressed stream at all, just text")},
		} {
			cases = append(cases, corpus.Late(p.name+": "+s.name, compressedGolden(p.method, s.stream).build(), format.ErrCorrupt, "weights", atWeights))
		}
		cases = append(cases, corpus.Late(p.name+": no stream", compressedGolden(p.method, nil).build(), format.ErrCorrupt, "weights", atWeights))
	}
	frame, skippable := corpus.Zstd(plain), []byte{0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 7}
	padded := int8Golden()
	padded.weights[6] = 1
	return append(cases,
		corpus.Late("zstd: a skippable frame before", compressedGolden(MethodZstd, slices.Concat(skippable, frame)).build(), format.ErrCorrupt, "weights", atWeights),
		corpus.Late("zstd: a skippable frame behind", compressedGolden(MethodZstd, slices.Concat(frame, skippable)).build(), format.ErrCorrupt, "weights", atWeights),
		corpus.Late("int8: padding", padded.build(), format.ErrCorrupt, "weights", atWeights),
	)
}

// sumCases returns files with a wrong checksum.
func sumCases() []corpus.Case {
	sum := func(g *gFile, at int, v uint32) []byte { le.PutUint32(g.comp[at:], v); return g.build() }
	chunked := func() *gFile { return chunkedGolden(corpus.Zstd, MethodZstd) }
	const single, rows = atWeights + 81, atWeights + 90
	changed := plainGolden().build()
	changed[atWeights] ^= 1
	halves := tinyGolden(sumOf(func(h uint16) bool { return h == 0x8000 }), false).build()
	return []corpus.Case{
		corpus.Late("weights changed", changed, format.ErrChecksum, "weights_checksum", 104),
		corpus.Late("zstd: checksum", sum(zstdGolden(), 12, 1), format.ErrChecksum, "compression checksum", single+12),
		corpus.Late("zstd: checksum 0", sum(zstdGolden(), 12, 0), format.ErrChecksum, "compression checksum", single+12),
		corpus.Late("none: checksum", sum(compressedGolden(MethodNone, plainGolden().weights), 12, 1), format.ErrChecksum, "compression checksum", atBehind+12),
		corpus.Late("chunks: checksum of all", sum(chunked(), 12, 1), format.ErrChecksum, "compression checksum", rows+12),
		corpus.Late("chunks: checksum of one", sum(chunked(), 24+24, 1), format.ErrChecksum, "chunk checksum", rows+24+24),
		corpus.Late("chunks: checksum 0 of one", sum(chunked(), 24+32+24, 0), format.ErrChecksum, "chunk checksum", rows+24+32+24),
		corpus.Late("float16: checksum that takes -0 alone for 0", halves, format.ErrChecksum, "compression checksum", atWeights+36+12),
	}
}

// signedBy signs a file by hand. The signature section is the last.
func signedBy(g *gFile, key ed25519.PrivateKey) []byte {
	g.flags |= 4
	g.sig = make([]byte, 140)
	b := g.build()
	at := len(b) - 140
	return append(b[:at:at], signatureOf(b[:at], key)...)
}

// signatureOf returns the signature section of a file that begins with signed.
func signatureOf(signed []byte, key ed25519.PrivateKey) []byte {
	digest := sha256.Sum256(signed)
	return slices.Concat(u64([]byte{1, 1, 0, 0}, 1700000000), trusted(key), ed25519.Sign(key, digest[:]), digest[:])
}

func signatureCases() []corpus.Case {
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, 32))
	flip := func(at int) []byte { b := signedBy(plainGolden(), testSigner); b[at] ^= 1; return b }
	unsigned := plainGolden().build()
	return []corpus.Case{
		good("signed", signedBy(plainGolden(), testSigner), "2"),
		good("signed by the trusted key", signedBy(plainGolden(), testSigner), "2").TrustedBy(trusted(testSigner)),
		corpus.Late("signature changed, no trusted key", flip(atBehind+50), format.ErrSignature, "signature", atBehind+44),
		corpus.Late("public key changed, no trusted key", flip(atBehind+12), format.ErrSignature, "signature", atBehind+44),
		good("signed and compressed", signedBy(zstdGolden(), testSigner), "2").TrustedBy(trusted(testSigner)),
		corpus.Late("signed, model hash changed", flip(atBehind+108), format.ErrSignature, "model_hash", atBehind+108),
		corpus.Late("signed, reserved header byte changed", signedReserved(), format.ErrSignature, "model_hash", atBehind+108),
		corpus.Late("not signed, but a trusted key", unsigned, format.ErrSignature, "signature_size", 72).TrustedBy(trusted(testSigner)),
		corpus.Late("signed by another key", signedBy(plainGolden(), other), format.ErrSignature, "signature", atBehind+12).TrustedBy(trusted(testSigner)),
		corpus.Late("signature changed", flip(atBehind+50), format.ErrSignature, "signature", atBehind+44).TrustedBy(trusted(testSigner)),
		corpus.Late("model hash changed, a trusted key", flip(atBehind+108), format.ErrSignature, "model_hash", atBehind+108).TrustedBy(trusted(testSigner)),
	}
}

// signedReserved returns a signed file with a changed reserved byte and a correct
// checksum.
func signedReserved() []byte {
	b := signedBy(plainGolden(), testSigner)
	b[125] = 1
	fixHeader(b)
	return b
}

// encrypted returns the file with the weights encrypted by hand.
func encrypted(g *gFile) []byte {
	g.flags |= 2
	g.weights = corpus.Seal(testKey, g.weights, u32(u32(u32(u32(nil, 0x00454C4D), 2), g.flags), uint32(g.headerSize)))
	return g.build()
}

// flippedWeights returns an encrypted file with a changed byte that its checksum covers.
func flippedWeights() []byte {
	b := encrypted(plainGolden())
	b[atWeights+20] ^= 1
	return b
}

func encryptedCases() []corpus.Case {
	flags := encrypted(plainGolden())
	flags[8] |= 0x80
	fixHeader(flags)
	changed := flippedWeights()
	fixSums(changed)
	none := compressedGolden(MethodNone, plainGolden().weights)
	noChunks := &gFile{version: 2, headerSize: 128, flags: 1 | 0x40, comp: u32(compHeader(0, 1, 0, 0, 0), 0)}
	return []corpus.Case{
		good("encrypted", encrypted(plainGolden()), "2").WithKey(testKey),
		good("encrypted, type 0", encrypted(none), "2").WithKey(testKey),
		good("encrypted zstd", encrypted(zstdGolden()), "2").WithKey(testKey),
		good("encrypted chunks", encrypted(chunkedGolden(brotliRaw, MethodBrotli)), "2").WithKey(testKey),
		corpus.Late("encrypted, no key", encrypted(plainGolden()), format.ErrKey, "weights", atWeights),
		corpus.Late("encrypted chunks of nothing, no key", encrypted(noChunks), format.ErrKey, "weights", 128+144),
		corpus.Late("encrypted, another key", encrypted(plainGolden()), format.ErrKey, "weights", atWeights).WithKey(bytes.Repeat([]byte{7}, 32)),
		corpus.Late("encrypted, weights changed, no key", flippedWeights(), format.ErrChecksum, "weights_checksum", 104),
		corpus.Late("encrypted, weights changed", flippedWeights(), format.ErrChecksum, "weights_checksum", 104).WithKey(testKey),
		corpus.Late("encrypted, flags changed", flags, format.ErrKey, "weights", atWeights).WithKey(testKey),
		corpus.Late("encrypted, weights and their checksum changed", changed, format.ErrKey, "weights", atWeights).WithKey(testKey),
	}
}

// good returns a case of a file with the tensors of plainGolden.
func good(name string, b []byte, version string) corpus.Case {
	return corpus.Case{Name: name, Bytes: b, Version: version, Tensors: []corpus.Tensor{
		corpus.Of("w", tensor.Float32, floats(1, 2, 3, 4, 5, 6), 2, 3), corpus.Of("b", tensor.Float32, floats(-1, 0.5), 2),
	}}
}

func goodHeaders() []corpus.Case {
	noted := func(c corpus.Case, notes ...string) corpus.Case { c.Notes = notes; return c }
	old := func(change func(*gFile)) *gFile { return with(func(g *gFile) { g.version = 1; change(g) }) }
	reserved := plainGolden().build()
	reserved[120], reserved[127] = 0xAA, 0xAA
	fixHeader(reserved)
	of144 := plainGolden().build()
	le.PutUint32(of144[108:], 0)
	le.PutUint32(of144[108:], crc32.ChecksumIEEE(of144[:144]))
	oldSignature := old(func(*gFile) {}).build()
	le.PutUint64(oldSignature[56:], 1<<40)
	g := plainGolden()
	scattered := slices.Clone(g.build()[:128])
	for _, s := range []struct {
		pos  int
		data []byte
	}{{48, g.weights}, {16, []byte(g.metadata)}, {32, g.graph()}} {
		scattered = append(scattered, 0xEE, 0xEE, 0xEE, 0xEE)
		le.PutUint64(scattered[s.pos:], uint64(len(scattered)))
		scattered = append(scattered, s.data...)
	}
	fixSums(scattered)
	reader1 := plainGolden().build()
	le.PutUint32(reader1[112:], 0)
	le.PutUint32(reader1[116:], 77)
	fixHeader(reader1)
	escaped := good("names with escapes", withMeta(`{"tensor\u005fnames" : [ "\u0077", "x" ,"\u6a21型","\u0079"]}`).build(), "2")
	escaped.Tensors[1].Name = "模型"
	nameless := func(name, meta string) corpus.Case {
		c := good(name, withMeta(meta).build(), "2")
		c.Tensors[0].Name, c.Tensors[1].Name = "tensor_0", "tensor_2"
		return c
	}
	return []corpus.Case{
		good("header of 128 bytes", plainGolden().build(), "2"),
		good("header of 144 bytes", with(func(g *gFile) { g.headerSize = 144 }).build(), "2"),
		good("header checksum over 144 of 128 bytes", of144, "2"),
		good("version 1", old(func(*gFile) {}).build(), "1"),
		good("version 1, header of 64 bytes", old(func(g *gFile) { g.headerSize = 64 }).build(), "1"),
		good("version 1, header of 128 bytes", old(func(g *gFile) { g.headerSize = 128 }).build(), "1"),
		corpus.Late("version 1, but a trusted key", old(func(*gFile) {}).build(), format.ErrSignature, "signature_offset", 56).TrustedBy(trusted(testSigner)),
		noted(good("version 1, signature_offset", oldSignature, "1"), "version 1 signature_offset 1099511627776 ignored"),
		noted(good("hints and unknown flags", with(func(g *gFile) { g.flags = 0x800000F8 }).build(), "2"), "unknown feature flags 0x80000000"),
		good("reserved bytes of the header", reserved, "2"),
		good("other reader and writer versions", reader1, "2"),
		noted(good("no checksums recorded", with(func(g *gFile) { g.noSums = true }).build(), "2"),
			"header checksum not recorded", "metadata checksum not recorded", "graph checksum not recorded", "weights checksum not recorded"),
		good("gaps, and sections in another order", scattered, "2"),
		escaped, nameless("no metadata", ""), nameless("metadata without names", ` {"a" : 1 } `),
		nameless("metadata of 1,000 levels", nestedJSON(1000)), nameless("metadata with nested keys twice", `{"o":{"a":1,"a":2}}`),
		nameless("metadata with a lone surrogate", `{"a":"\ud800","b":{"\udc00":1}}`), nameless("metadata with a long number", `{"a":123456789012345678901234567890}`),
	}
}

func goodGraphs() []corpus.Case {
	spare := with(func(g *gFile) { g.attributes += "spare" }).build()
	graph := 179
	le.PutUint32(spare[graph+16+4*5:], 99)        // an unused id
	spare[graph+144+53] = 7                       // a reserved byte of a descriptor
	le.PutUint32(spare[graph+144+20+4*7:], 12345) // an unused dim
	le.PutUint64(spare[graph+144+56:], 1<<60)     // the offset of a placeholder
	spare[graph+144+56+52] = 200                  // the dtype of a placeholder
	fixSums(spare)
	overlapping := good("constants that share bytes", with(func(g *gFile) { g.tensors[2] = gTensor{4, 8, []uint32{2}, 0} }).build(), "2")
	overlapping.Tensors[1].Data = floats(2, 3)
	empty := &gFile{version: 2, headerSize: 128}
	dtypes := with(func(g *gFile) {
		g.metadata, g.nodes, g.attributes, g.inputs, g.outputs = "", nil, "", nil, nil
		g.tensors = []gTensor{{0, 4, []uint32{1}, 0}, {4, 2, []uint32{1}, 1}, {6, 3, []uint32{3, 1}, 2}, {12, 4, nil, 3}, {20, 1, slices.Repeat([]uint32{1}, 8), 2}}
	})
	data := dtypes.weights
	return []corpus.Case{
		good("what is ignored in a graph", spare, "2"),
		overlapping,
		{Name: "empty graph", Bytes: empty.build(), Version: "2"},
		{Name: "every dtype", Bytes: dtypes.build(), Version: "2", Tensors: []corpus.Tensor{
			corpus.Of("tensor_0", tensor.Float32, data[:4], 1), corpus.Of("tensor_1", tensor.Float16, data[4:6], 1),
			corpus.Of("tensor_2", tensor.Int8, data[6:9], 3, 1), corpus.Of("tensor_3", tensor.Int32, data[12:16]),
			corpus.Of("tensor_4", tensor.Int8, data[20:21], 1, 1, 1, 1, 1, 1, 1, 1),
		}},
		good("unknown operator, and an id without a descriptor", with(func(g *gFile) { g.nodes[0].op, g.nodes[0].outputs = 999, []uint32{77} }).build(), "2"),
		good("node without operands", with(func(g *gFile) { g.nodes[0] = gNode{op: 2} }).build(), "2"),
		good("shared attributes", with(func(g *gFile) {
			g.nodes = append(g.nodes, g.nodes[0])
			for i := range g.nodes {
				g.nodes[i].attrOffset = 144 + 4*56 + 2*208
			}
		}).build(), "2"),
		good("attributes of 1,000 levels", with(func(g *gFile) {
			g.attributes = nestedJSON(1000)
			g.nodes[0].attrSize = uint32(len(g.attributes))
		}).build(), "2"),
	}
}

func goodWeights() (cases []corpus.Case) {
	plain := plainGolden().weights
	for _, m := range []Method{MethodNone, MethodLZ4, MethodZstd, MethodBrotli} {
		cases = append(cases, good("compression "+m.String(), compressedGolden(m, methodsOf(plain)[m]).build(), "2"))
	}
	short := func(b []byte) []byte { return slices.Concat([]byte{byte(len(b)) << 4}, b) }
	lz4 := func(b []byte) []byte {
		if len(b) < 15 {
			return short(b)
		}
		return lz4Literals(b)
	}
	int8s, halves := good("int8", int8Golden().build(), "2"), good("float16", halfGolden().build(), "2")
	int8s.Tensors[0].Data, int8s.Tensors[1].Data = floats(-5, -3.5, -2, -0.5, 1, 2.5), floats(19, 20.5)
	halves.Tensors[0].Data, halves.Tensors[1].Data = floats(0, 0.25, 0.5, 0.75, 1, 1.25), floats(4, 4.25)
	loose := int8Golden()
	loose.tensors[1].dtype, loose.tensors[3].dtype = 3, 200
	placeholders := int8s
	placeholders.Name, placeholders.Bytes = "int8 beside placeholders of other dtypes", loose.build()
	var ieee []byte
	for _, bits := range tinyFloats {
		ieee = u32(ieee, bits)
	}
	reference := good("float16 with the reference's checksum", tinyGolden(sumOf(func(h uint16) bool { return h&0x7C00 == 0 }), false).build(), "2")
	reference.Tensors[0].Data, reference.Tensors[1].Data, reference.Notes = ieee[:24], ieee[64:], []string{flushedNote}
	inChunks := reference
	inChunks.Name, inChunks.Bytes = "float16 chunks with the reference's checksum", tinyGolden(sumOf(func(h uint16) bool { return h&0x7C00 == 0 }), true).build()
	window := slices.Concat([]byte{0x28, 0xB5, 0x2F, 0xFD, 0x00, 21 << 3}, corpus.Zstd(plain)[6:])
	first := slices.Concat(floats(1), []byte{0, 0, 0, 0, 1, 2, 3, 4, 5, 6}, make([]byte, 10))
	scales := with(func(g *gFile) {
		g.flags = 1 | 0x40
		g.comp, g.weights = chunkTable(compHeader(4, 6, 72, crc32.ChecksumIEEE(plain), 8), gChunk{0, first}, gChunk{64, append(floats(0.5), 2, 0, 0, 0, 0, 3)})
	})
	spare := with(func(g *gFile) {
		g.flags, g.weights = 1, append(bytes.Clone(plain), make([]byte, 56)...)
		g.comp = compHeader(0, 0, 128, crc32.ChecksumIEEE(g.weights), 0)
	})
	return append(cases, int8s, halves, placeholders, reference, inChunks,
		good("zstd window of 2 GiB", compressedGolden(MethodZstd, window).build(), "2"),
		good("int8 chunks with scales of their own", scales.build(), "2"),
		good("padded to the next 64", spare.build(), "2"),
		good("chunks lz4", chunkedGolden(lz4, MethodLZ4).build(), "2"),
		good("chunks zstd", chunkedGolden(corpus.Zstd, MethodZstd).build(), "2"),
		good("chunks brotli", chunkedGolden(brotliRaw, MethodBrotli).build(), "2"),
		good("chunks none", chunkedGolden(bytes.Clone, MethodNone).build(), "2"),
	)
}
