package wia

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

func TestCorpus(t *testing.T) {
	s := corpus.Suite{Format: Format{}, Ext: ".wia"}
	for _, m := range malformedCases() {
		for _, c := range m.files {
			s.Cases = append(s.Cases, corpus.Refused(c.name, c.c.bytes(), m.err, c.field, c.offset))
		}
	}
	s.Cases = append(s.Cases, locationCases()...)
	s.Cases = append(s.Cases, damagedCases()...)
	s.Cases = append(s.Cases, externalCases()...)
	s.Cases = append(s.Cases, encryptedCases()...)
	s.Cases = append(s.Cases, signedCases()...)
	s.Cases = append(s.Cases, containerCases()...)
	s.Cases = append(s.Cases, wireCases()...)
	s.Cases = append(s.Cases, tensorCases()...)
	s.Run(t)
}

// In small, the metadata is at 256, the graph at 292, and the tensors at 434.
const atTensors = 434

var four = []byte{1, 2, 3, 4}

// codes lists the dtypes by code, from 1.
var codes = [...]tensor.DType{
	tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Int64, tensor.Int32,
	tensor.Int16, tensor.Int8, tensor.Uint8, tensor.Bool, tensor.Complex64,
}

// w returns the tensor of most cases.
func w() corpus.Tensor { return corpus.Of("w", tensor.Float32, four, 1) }

// good returns a case of a file that opens and verifies.
func good(name string, c container, tensors ...corpus.Tensor) corpus.Case {
	version := "1.0"
	if c.minor > 0 {
		version = "1.65535"
	}
	return corpus.Case{Name: name, Bytes: c.bytes(), Version: version, Tensors: tensors}
}

// ofSmall returns the tensors of small.
func ofSmall() []corpus.Tensor {
	return []corpus.Tensor{
		corpus.Of("w", tensor.Float32, floats(1, 2, 3, 4), 2, 2),
		corpus.Of("z", tensor.Int8, []byte{1, 2, 3, 255}, 4), corpus.Of("q", tensor.Int8, []byte{1, 2, 253}, 3),
	}
}

// locationCases returns files with locations of external data that are refused.
func locationCases() (cases []corpus.Case) {
	for _, c := range []struct{ name, location string }{
		{"absolute", "/a"}, {"leads out", "../a"}, {"leads out in the middle", "a/../b"}, {"ends outside", "a/.."}, {"backslash", `a\b`},
		{"drive", "C:a"}, {"URL", "https://a/b"}, {"file URL", "file:a"}, {"NUL", "a\x00b"},
	} {
		cases = append(cases, corpus.Case{Name: "location: " + c.name, Bytes: externally(st(1, c.location), vi(3, 4)).bytes(),
			Err: format.ErrCorrupt, Field: "tensor.tensors[0].external_data.location", Offset: 256})
	}
	return cases
}

// damagedCases returns files whose damage only verification finds.
func damagedCases() []corpus.Case {
	flip := func(at int) []byte {
		b := small().bytes()
		b[at] ^= 1
		return b
	}
	packed := func(dim int64, stored []byte) []byte {
		c := small()
		c.tensor = cat(c.tensor, by(2, by(1, decl("bad", 7, dim)), vi(2, 1), by(3, stored), vi(4, dim)))
		return c.bytes()
	}
	unsummed := small()
	unsummed.noSums = true
	// The record of "bad" follows those of small: tags and lengths, a declaration of
	// 10 bytes, the codec, and the data.
	bad := int64(atTensors + len(small().tensor) + 4 + 10 + 2 + 2)
	return []corpus.Case{
		corpus.Late("reserved byte changed", flip(200), format.ErrChecksum, "header", 0),
		corpus.Late("metadata changed", flip(256+17), format.ErrChecksum, "metadata", 256),
		corpus.Late("graph changed", flip(292+3), format.ErrChecksum, "graph", 292),
		corpus.Late("tensor block changed", flip(atTensors+20), format.ErrChecksum, "tensor", atTensors),
		corpus.Late("no signature block", unsummed.bytes(), format.ErrChecksum, "signature_size", 64),
		corpus.Late("compressed: inflates to less", packed(4, corpus.Gzip(four[:3])), format.ErrCorrupt, `tensor "bad".compressed_data`, bad),
		corpus.Late("compressed: inflates to more", packed(2, corpus.Gzip(four[:3])), format.ErrCorrupt, `tensor "bad".compressed_data`, bad),
		corpus.Late("compressed: a byte behind the member", packed(4, cat(corpus.Gzip(four), []byte{0})), format.ErrCorrupt, `tensor "bad".compressed_data`, bad),
		corpus.Late("compressed: two members", packed(4, cat(corpus.Gzip(four[:2]), corpus.Gzip(four[2:]))), format.ErrCorrupt, `tensor "bad".compressed_data`, bad),
		corpus.Late("compressed: no gzip", packed(4, four), format.ErrCorrupt, `tensor "bad".compressed_data`, bad),
		corpus.Late("compressed: an empty tensor inflates to a byte", packed(0, corpus.Gzip([]byte{1})), format.ErrCorrupt, `tensor "bad".compressed_data`, bad),
	}
}

// outside returns a case of a model with tensors in an external file.
func outside(name string, data string, tensors ...[]byte) corpus.Case {
	return corpus.Case{Name: "external: " + name, Open: "model.wia", Version: "1.0", Files: map[string][]byte{
		"model.wia": container{tensor: cat(tensors...)}.bytes(), "weights/w.bin": []byte(data),
	}}
}

func externalCases() []corpus.Case {
	const data, location = "0123456789abcdef", "weights/w.bin"
	sum := checksumText([]byte(data)[4:8])
	upper := "sha256:" + strings.ToUpper(sum[7:])
	one := func(text string) corpus.Tensor { return corpus.Of("w", tensor.Uint8, []byte(text), int64(len(text))) }
	accept := func(name string, record []byte, tensors ...corpus.Tensor) corpus.Case {
		c := outside(name, data, record)
		c.Tensors = tensors
		return c
	}
	refuse := func(name string, record []byte, err error) corpus.Case {
		c := outside(name, data, record)
		c.Version, c.Late, c.Err, c.Field, c.Offset = "", true, err, `tensor "w".external_data`, 258
		return c
	}
	trusting := func(c corpus.Case, model container) corpus.Case {
		c.Files["model.wia"], c.Trusted = signed(model, ecKey, true), ecKey.Public()
		return c
	}
	// The tensor of an attribute, whose data is in another file.
	attribute := by(2, by(5, st(1, "a"), by(5, decl("w", 8, 4), by(5, st(1, location), vi(3, 4)))))
	hidden := trusting(refuse("no checksum in an attribute, and a trusted key", nil, format.ErrSignature), container{graph: attribute})
	hidden.Field, hidden.Offset = `graph: tensor "w"`, 256
	return []corpus.Case{
		accept("whole", externalRecord("w", location, 0, 16, checksumText([]byte(data))), one(data)),
		accept("checksum in capitals, ./ and //", externalRecord("w", "./weights//w.bin", 4, 4, upper), one("4567")),
		accept("no checksum", externalRecord("w", "weights/./w.bin", 15, 1, ""), one("f")),
		accept("offset left out", by(1, decl("w", 8, 2), by(5, st(1, location), vi(3, 2))), one("01")),
		accept("no elements at the end", externalRecord("w", location, 16, 0, ""), one("")),
		accept("ranges are shared", cat(externalRecord("w", location, 4, 4, sum), externalRecord("v", location, 4, 4, sum), externalRecord("u", location, 6, 4, "")),
			one("4567"), corpus.Of("v", tensor.Uint8, []byte("4567"), 4), corpus.Of("u", tensor.Uint8, []byte("6789"), 4)),
		accept("message in pieces", by(1, decl("w", 8, 4), by(5, st(1, location)), by(5, vi(3, 4))), one("0123")),
		trusting(accept("checksum, and a trusted key", nil, one("4567")), container{tensor: externalRecord("w", location, 4, 4, sum)}),
		refuse("checksum of other bytes", externalRecord("w", location, 5, 4, sum), format.ErrChecksum),
		refuse("range beyond the end", externalRecord("w", location, 13, 4, ""), format.ErrTruncated),
		refuse("offset beyond the end", externalRecord("w", location, 17, 0, ""), format.ErrTruncated),
		trusting(refuse("no checksum, and a trusted key", nil, format.ErrSignature), container{tensor: externalRecord("w", location, 4, 4, "")}),
		trusting(refuse("no checksum and no file, and a trusted key", nil, format.ErrSignature), container{tensor: externalRecord("w", "none", 4, 4, "")}),
		hidden,
	}
}

// sealed encrypts the block with the given name.
func sealed(name string, plain []byte) []byte {
	return corpus.Seal(testKey, plain, []byte(name))
}

func encryptedCases() []corpus.Case {
	all := func(c container) container {
		c.encryption = 1
		c.meta, c.graph, c.tensor = sealed("metadata", c.meta), sealed("graph", c.graph), sealed("tensor", c.tensor)
		return c
	}
	zipped := small()
	zipped.compression, zipped.meta, zipped.graph = 1, corpus.Gzip(zipped.meta), corpus.Gzip(zipped.graph)
	swapped := all(small())
	swapped.meta = sealed("graph", small().meta)
	refuse := func(name string, c container, err error, field string, offset int64) corpus.Case {
		return corpus.Refused(name, c.bytes(), err, field, offset)
	}
	short, changed := all(small()), all(small())
	short.meta = short.meta[:27]
	changed.tensor[20] ^= 1
	at := 256 + len(changed.meta) + len(changed.graph)
	return []corpus.Case{
		good("encrypted", all(small()), ofSmall()...).WithKey(testKey),
		good("compressed and encrypted", all(zipped), ofSmall()...).WithKey(testKey),
		good("encrypted, tensor block empty", all(container{meta: []byte("{}")})).WithKey(testKey),
		refuse("encrypted, no key", all(small()), format.ErrKey, "encryption", 73),
		refuse("encrypted, another key", all(small()), format.ErrKey, "metadata", 256).WithKey(bytes.Repeat([]byte{8}, 32)),
		refuse("encrypted under the name of another block", swapped, format.ErrKey, "metadata", 256).WithKey(testKey),
		refuse("encrypted, too short for nonce and tag", short, format.ErrCorrupt, "metadata", 256).WithKey(testKey),
		refuse("encrypted, tensor block changed", changed, format.ErrKey, "tensor", int64(at)).WithKey(testKey),
	}
}

// ecKey and rsaSigner are keys with deterministic signatures: ECDSA by RFC 6979.
var (
	ecKey     = scalarKey(7)
	rsaSigner = parsedKey()
)

func scalarKey(d byte) *ecdsa.PrivateKey {
	k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), append(make([]byte, 31), d))
	if err != nil {
		panic(err)
	}
	return k
}

// parsedKey returns a key that is used only in these tests.
func parsedKey() *rsa.PrivateKey {
	der, err := os.ReadFile("testdata/rsa.der")
	if err != nil {
		panic(err)
	}
	k, err := x509.ParsePKCS1PrivateKey(der)
	if err != nil {
		panic(err)
	}
	return k
}

// signed returns the file of a container, signed independently of the writer. The
// signature block has room for any signature, and padding fills the rest.
func signed(c container, key crypto.Signer, named bool) []byte {
	const room = 900
	c.sig = make([]byte, room)
	b := c.bytes()
	var sums, message []byte
	for i, block := range [][]byte{b[:256], c.meta, c.graph, c.tensor} {
		sum := sha256.Sum256(block)
		sums = append(sums, by(1, st(1, []string{"header", "metadata", "graph", "tensor"}[i]), by(2, sum[:]))...)
		message = append(message, sum[:]...)
	}
	const stamp = 1700000000
	digest := sha256.Sum256(binary.LittleEndian.AppendUint64(message, stamp))
	signature, err := key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		panic(err)
	}
	algorithm := "RSA-SHA256"
	if _, ok := key.(*ecdsa.PrivateKey); ok {
		algorithm = "ECDSA"
	}
	fields := cat(st(1, algorithm), by(3, signature), vi(4, stamp))
	if named {
		public, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			panic(err)
		}
		fields = cat(fields, by(2, public))
	}
	body := cat(sums, by(2, fields))
	body = cat(body, by(15, make([]byte, room-len(body)-3))) // a tag, and a length of two bytes
	return append(b[:len(b)-room:len(b)-room], body...)
}

func signedCases() []corpus.Case {
	is := func(name string, b []byte) corpus.Case {
		return corpus.Case{Name: name, Bytes: b, Version: "1.0", Tensors: ofSmall()}
	}
	ec, rs := signed(small(), ecKey, true), signed(small(), rsaSigner, true)
	at := len(ec) - 900
	refuse := func(name string, b []byte) corpus.Case {
		return corpus.Late(name, b, format.ErrSignature, "signature", int64(at)).TrustedBy(ecKey.Public())
	}
	untrusted := func(name string, b []byte) corpus.Case {
		return corpus.Late(name, b, format.ErrSignature, "signature", int64(at))
	}
	later := bytes.Replace(ec, protowire.AppendVarint(nil, 1700000000), protowire.AppendVarint(nil, 1700000001), 1)
	other := bytes.Replace(ec, []byte("ECDSA"), []byte("ECDSB"), 1)
	named, err := x509.MarshalPKIXPublicKey(ecKey.Public())
	if err != nil {
		panic(err)
	}
	replaced, err := x509.MarshalPKIXPublicKey(scalarKey(9).Public())
	if err != nil {
		panic(err)
	}
	renamed := bytes.Replace(ec, named, replaced, 1)
	broken := bytes.Replace(ec, named, make([]byte, len(named)), 1)
	metadata := bytes.Clone(ec)
	metadata[256+17] ^= 1
	unsummed := small()
	unsummed.noSums = true
	return []corpus.Case{
		is("signed with ECDSA", ec).TrustedBy(ecKey.Public()), is("signed with RSA", rs).TrustedBy(rsaSigner.Public()),
		is("signed, no public key", signed(small(), ecKey, false)).TrustedBy(ecKey.Public()),
		is("signed, no trusted key", ec), untrusted("signed later than it says, no trusted key", later),
		untrusted("signed by another algorithm, no trusted key", other), untrusted("signed by another key than it names, no trusted key", renamed),
		untrusted("signed, with a key that cannot be parsed, no trusted key", broken),
		refuse("signed later than it says", later), refuse("signed by another algorithm", other),
		refuse("signed by another key", signed(small(), scalarKey(9), true)), refuse("signed by another key, not named", signed(small(), scalarKey(9), false)),
		refuse("signed with RSA, not ECDSA", rs), refuse("not signed, but a trusted key", small().bytes()),
		corpus.Late("no signature block, but a trusted key", unsummed.bytes(), format.ErrSignature, "signature_size", 64).TrustedBy(ecKey.Public()),
		corpus.Late("signed, metadata changed", metadata, format.ErrChecksum, "metadata", 256).TrustedBy(ecKey.Public()),
	}
}

// containerCases returns files that use everything the container allows.
func containerCases() []corpus.Case {
	record := container{tensor: by(1, inline("w", 1, four, 1))}
	gaps, backwards := small(), small()
	gaps.gap, backwards.order = 13, []int{3, 2, 1, 0}
	zipped, frames := small(), small()
	zipped.compression, zipped.meta, zipped.graph = 1, corpus.Gzip(zipped.meta), corpus.Gzip(zipped.graph)
	frames.compression, frames.meta, frames.graph = 2, corpus.Zstd(frames.meta), corpus.Zstd(frames.graph)
	minor, reversed, reserved := record, record, record
	minor.minor, reversed.magic, reserved.reserved = 65535, 0x31414957, 0xff
	others, padded, unsigned := record, record, record
	ascii := good("ASCII magic", reversed, w())
	ascii.Notes = []string{`magic number spelled "WIA1"`}
	others.tail = cat(by(1, st(1, "other"), by(2, four)), by(1, st(1, "other")), vi(77, 1))
	padded.tail = cat(by(15, four), by(15, nil))
	unsigned.tail = by(2)
	return []corpus.Case{
		good("plain", small(), ofSmall()...), good("gaps between blocks", gaps, ofSmall()...), good("gzip", zipped, ofSmall()...), good("zstd", frames, ofSmall()...),
		{Name: "blocks in another order", Bytes: backwards.bytes(), Version: "1.0", Tensors: ofSmall()},
		good("minor 65535", minor, w()), ascii, good("reserved bytes", reserved, w()),
		good("all blocks empty", container{}), good("empty payload compressed", container{compression: 1, meta: corpus.Gzip([]byte("{}")), graph: corpus.Gzip(nil)}),
		good("metadata of 1,000 levels", container{meta: []byte(`{"a":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + "}")}),
		good("metadata of other types", container{meta: []byte(`{"model_info": 7, "training_info": [], "big": 123456789012345678901234567890}`)}),
		good("metadata with nested keys twice", container{meta: []byte(`{"a":{"b":1,"b":2}}`)}),
		good("metadata of an ONNX model", container{meta: []byte(`{"opsets": [{"domain": "ai.onnx", "version": 17}], "ir_version": 8}`)}),
		good("checksums of other blocks", others, w()), good("padding in the signature block", padded, w()), good("empty signature", unsigned, w()),
	}
}

// wireCases returns files that use everything protocol buffers allow.
func wireCases() []corpus.Case {
	record := inline("w", 1, four, 1)
	w8, z8 := corpus.Of("w", tensor.Uint8, four, 4), corpus.Of("z", tensor.Uint8, four, 4)
	return []corpus.Case{
		good("unknown fields everywhere", container{
			graph:  cat(vi(99, 1), by(2, vi(99, 1), by(5, by(99), by(5, inline("", 1, four, 1), fl(99, 1)))), by(3, vi(7, 7)), by(5, decl("w", 1, 1), by(6, by(3, vi(9, 9))))),
			tensor: cat(by(99, four), by(1, record, vi(7, 1)), by(2, by(1, decl("z", 8, 4), vi(99, 9)), by(3, four), vi(4, 4), vi(99, 1)))}, w(), z8),
		good("unknown field with the number of Node.domain", onlyGraph(by(2, vi(7, 1)), by(2, st(7, "\xff")))),
		good("overlong varints", onlyTensor(st(1, "w"), by(2, []byte{0x81, 0}), overlong(3, 1), by(4, four)), w()),
		good("five-byte negative int32", onlyTensor(record, by(6, by(3, rawVarint(3, 0xff, 0xff, 0xff, 0xff, 0x0f)))), w()),
		good("unpacked dims", onlyTensor(st(1, "w"), vi(2, 1), vi(2, 1), vi(3, 1), by(4, four)), corpus.Of("w", tensor.Float32, four, 1, 1)),
		good("packed and unpacked dims", onlyTensor(st(1, "w"), vi(2, 1), by(2, []byte{1, 1}), by(2), vi(3, 1), by(4, four)), corpus.Of("w", tensor.Float32, four, 1, 1, 1)),
		good("fields backwards", onlyTensor(by(4, four), vi(3, 1), dims(1), st(1, "w")), w()),
		good("singular fields repeat: the last wins", onlyTensor(st(1, "x"), vi(3, 99), by(4, four, four), record), w()),
		good("compressed tensor in pieces", container{tensor: by(2, by(1, st(1, "w")), by(1, dims(4), vi(3, 8)), vi(2, 1), by(3, corpus.Gzip(four)), vi(4, 4))}, w8),
		good("100 levels", onlyGraph(nestedGraphs(33))),
	}
}

// tensorCases returns files with all kinds of tensors and graphs.
func tensorCases() []corpus.Case {
	record := inline("w", 1, four, 1)
	block := container{tensor: by(1, record)}
	w8 := corpus.Of("w", tensor.Uint8, four, 4)
	packed := func(codec int64, stored []byte) container {
		return container{tensor: by(2, by(1, decl("w", 8, 4)), vi(2, codec), by(3, stored), vi(4, 4))}
	}
	graph := func(c container, fields ...[]byte) container { c.graph = cat(fields...); return c }
	header := packed(0, corpus.Gzip(four))
	header.compression, header.meta, header.graph = 1, corpus.Gzip([]byte("{}")), corpus.Gzip(nil)
	declared := packed(0, four)
	declared.graph = by(5, decl("w", 8, 4))
	cases := []corpus.Case{
		good("no elements, no data", onlyTensor(decl("w", 1, 0, 5)), corpus.Of("w", tensor.Float32, nil, 0, 5)),
		good("no elements, compressed, no data", container{tensor: by(2, by(1, decl("w", 1, 0)), vi(2, 1))}, corpus.Of("w", tensor.Float32, nil, 0)),
		good("scalar", onlyTensor(st(1, "w"), vi(3, 1), by(4, four)), corpus.Of("w", tensor.Float32, four)),
		good("large dim beside 0", onlyTensor(decl("w", 7, 1<<62, 0)), corpus.Of("w", tensor.Int8, nil, 1<<62, 0)),
		good("compressed with gzip", packed(1, corpus.Gzip(four)), w8), good("compressed with zstd", packed(2, corpus.Zstd(four)), w8),
		good("compressed by the header's codec", header, w8), good("compressed by nothing", packed(0, four), w8),
		good("tensor without initializer", block, w()), good("initializer with data", container{graph: by(5, record)}, w()),
		good("initializer declares a tensor", graph(block, by(5, decl("w", 1, 1))), w()), good("initializer declares a compressed tensor", declared, w8),
		good("subgraph initializers have their own scope", graph(block, by(2, by(5, by(6, by(5, inline("w", 8, four, 4)))))), w()),
		good("subgraph names the tensor block", graph(block, by(2, by(5, by(6, by(5, decl("w", 1, 1)))))), w()),
		good("nameless attribute tensor", attr(by(5, inline("", 1, four, 1)))),
		good("nodes and properties repeat", onlyGraph(by(2, st(1, "n")), by(2, st(1, "n")), by(6, by(1, st(1, "k")), by(1, st(1, "k"))))),
		good("value infos of all kinds", onlyGraph(by(3), by(4, st(1, "y"), by(2, by(1, vi(1, 99), by(2, by(1, vi(1, -7)), by(1, vi(1, 1<<62)), by(1, st(2, "n")), by(1))))))),
		good("input and output of one name", onlyGraph(by(3, st(1, "x")), by(4, st(1, "x")))),
		good("unknown quantization", onlyTensor(record, by(6, by(3, vi(1, 77)))), w()),
		good("unsound quantization", onlyTensor(record, by(6, by(3, vi(1, 1), by(5, by(1, floats(1, 2, 3)), vi(3, 9))))), w()),
		good("linear quantization", onlyTensor(inline("w", 7, four, 4), by(6, by(3, vi(1, 1), fl(2, 0.5), vi(3, 1)))), corpus.Of("w", tensor.Int8, four, 4)),
		good("logarithmic quantization by channel", onlyTensor(inline("w", 7, four, 2, 2), by(6, by(3, vi(1, 2), by(5, by(1, floats(1, 2)))))), corpus.Of("w", tensor.Int8, four, 2, 2)),
	}
	for i, d := range codes {
		data := bytes.Repeat([]byte{1, 2, 3, 4}, 2)[:d.Size()]
		cases = append(cases, good("dtype "+d.String(), onlyTensor(inline("w", int64(i+1), data, 1)), corpus.Of("w", d, data, 1)))
	}
	return cases
}
