package wia

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/expect"
	"google.golang.org/protobuf/encoding/protowire"
)

// The functions below build files field by field from the specification,
// independently of the writer.

func cat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func vi(num protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), uint64(v))
}

func by(num protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), cat(parts...))
}

func st(num protowire.Number, s string) []byte { return by(num, []byte(s)) }

func fl(num protowire.Number, v float32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, num, protowire.Fixed32Type), math.Float32bits(v))
}

func floats(values ...float32) []byte { return corpus.LE(values) }

// dims returns field 2 of a Tensor, packed.
func dims(d ...int64) []byte {
	var b []byte
	for _, v := range d {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return by(2, b)
}

// decl returns a Tensor message without data.
func decl(name string, dtype int64, shape ...int64) []byte {
	return cat(st(1, name), dims(shape...), vi(3, dtype))
}

// inline returns a Tensor message with raw_data.
func inline(name string, dtype int64, data []byte, shape ...int64) []byte {
	return cat(decl(name, dtype, shape...), by(4, data))
}

// container describes a file to build.
type container struct {
	magic, major, minor     int
	meta, graph, tensor     []byte // as stored
	sig                     []byte
	compression, encryption byte
	noSums                  bool
	order                   []int // of the blocks in the file
	gap                     int   // bytes before each block
	aligned                 bool  // the tensor block begins at a multiple of 64
	reserved                byte
	patch                   func(header []byte)
	tail                    []byte // after the checksums in the signature block
}

func gz(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// bytes returns the file, with correct checksums unless noSums is set.
func (c container) bytes() []byte {
	if c.magic == 0 {
		c.magic = 0x57494131
	}
	if c.major == 0 {
		c.major = 1
	}
	if c.order == nil {
		c.order = []int{0, 1, 2, 3}
	}
	sums := func(h [4][]byte) []byte {
		var b []byte
		for i, name := range []string{"header", "metadata", "graph", "tensor"} {
			sum := sha256.Sum256(h[i])
			b = append(b, by(1, st(1, name), by(2, sum[:]))...)
		}
		return cat(b, c.tail)
	}
	if c.sig == nil && !c.noSums {
		c.sig = sums([4][]byte{})
	}
	blocks := [4][]byte{c.meta, c.graph, c.tensor, c.sig}
	var at [4]int
	pos := 256
	for _, i := range c.order {
		pos += c.gap
		if c.aligned && i == 2 { // the tensor block
			pos += -pos & 63
		}
		at[i] = pos
		pos += len(blocks[i])
	}
	h := make([]byte, 256)
	le := binary.LittleEndian
	le.PutUint32(h, uint32(c.magic))
	le.PutUint16(h[4:], uint16(c.major))
	le.PutUint16(h[6:], uint16(c.minor))
	for i := range blocks {
		le.PutUint64(h[8+16*i:], uint64(at[i]))
		le.PutUint64(h[16+16*i:], uint64(len(blocks[i])))
	}
	h[72], h[73] = c.compression, c.encryption
	for i := 74; i < 256; i++ {
		h[i] = c.reserved
	}
	if c.patch != nil {
		c.patch(h)
	}
	if !c.noSums && len(blocks[3]) > 0 && bytes.Equal(blocks[3], sums([4][]byte{})) {
		blocks[3] = sums([4][]byte{h, c.meta, c.graph, c.tensor})
	}
	out := make([]byte, pos)
	copy(out, h)
	for i, b := range blocks {
		copy(out[at[i]:], b)
	}
	return out
}

func mustOpen(t testing.TB, b []byte, o *format.Options) *File {
	t.Helper()
	f, err := openBytes(b, o)
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// verify verifies f and drops the Coverage.
func verify(f *File) error {
	_, err := f.Verify(context.Background(), nil)
	return err
}

// verifySigner verifies that the holder of key signed the file.
func verifySigner(f *File, key crypto.PublicKey) error {
	_, err := f.Verify(context.Background(), &format.VerifyOptions{Trusted: format.TrustKey(key)})
	return err
}

// tensorBlockOf returns the payload of the tensor block.
func tensorBlockOf(t testing.TB, f *File) []byte {
	t.Helper()
	p := &f.f.payloads[tensorBlock]
	section := f.f.section(p)
	defer section.Close()
	b, err := section.Append(nil, 0, p.size)
	expect.OK(t, err)
	return b
}

// small returns a container with a bit of everything except external data.
func small() container {
	return container{
		meta: []byte(`{"model_info": {"name":"m"}, "x": 7}`),
		graph: cat(
			st(1, "main"),
			by(2, st(1, "n0"), st(2, "Conv"), st(3, "in"), st(3, "w"), st(3, ""), st(4, "y"),
				by(5, st(1, "strides"), vi(8, 2), vi(8, -1), vi(20, 7)),
				by(5, st(1, "alpha"), fl(2, 0.5), vi(20, 1)),
				by(5, st(1, "k"), by(5, inline("", 1, floats(3), 1)), vi(20, 4))),
			by(3, st(1, "in"), by(2, by(1, vi(1, 1), by(2, by(1, st(2, "batch")), by(1, vi(1, 3)), by(1))))),
			by(4, st(1, "y")),
			by(5, decl("w", 1, 2, 2)),
		),
		tensor: cat(
			by(15, make([]byte, 3)),
			by(1, inline("w", 1, floats(1, 2, 3, 4), 2, 2)),
			by(2, by(1, decl("z", 7, 4)), vi(2, 1), by(3, corpus.Gzip([]byte{1, 2, 3, 255})), vi(4, 4)),
			by(1, inline("q", 7, []byte{1, 2, 253}, 3), by(6, st(1, "doc"), by(2, st(1, "k"), st(2, "v")), by(3, vi(1, 1), fl(2, 0.5), vi(3, 1)))),
		),
	}
}
