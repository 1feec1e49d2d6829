package all_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// bareRange is a range of a file that, by its layout, no checksum covers.
type bareRange struct{ From, To int64 }

// complement returns the ranges of size bytes that are in none of covered.
func complement(size int64, covered ...bareRange) (bare []bareRange) {
	slices.SortFunc(covered, func(a, b bareRange) int { return int(a.From - b.From) })
	at := int64(0)
	for _, c := range append(covered, bareRange{size, size}) {
		if c.From > at {
			bare = append(bare, bareRange{at, c.From})
		}
		at = max(at, c.To)
	}
	return bare
}

// zipped is an entry of an archive to build.
type zipped struct {
	name   string
	data   []byte
	packed bool
}

// flipZip returns an archive, and the ranges of its file that have the content of the entries.
func flipZip(t testing.TB, entries ...zipped) (b []byte, contents []bareRange) {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		stored := e.data
		method := zip.Store
		if e.packed {
			method = zip.Deflate
			var packed bytes.Buffer
			to, err := flate.NewWriter(&packed, flate.BestCompression)
			expect.OK(t, err)
			_, err = to.Write(e.data)
			expect.OK(t, err)
			expect.OK(t, to.Close())
			stored = packed.Bytes()
		}
		to, err := w.CreateRaw(&zip.FileHeader{
			Name: e.name, Method: method, CRC32: crc32.ChecksumIEEE(e.data),
			CompressedSize64: uint64(len(stored)), UncompressedSize64: uint64(len(e.data)),
		})
		expect.OK(t, err)
		expect.OK(t, w.Flush())
		from := int64(out.Len())
		_, err = to.Write(stored)
		expect.OK(t, err)
		expect.OK(t, w.Flush())
		contents = append(contents, bareRange{from, int64(out.Len())})
	}
	expect.OK(t, w.Close())
	return out.Bytes(), contents
}

// npyOf is an array of float32 with one dim.
func npyOf(values ...float32) []byte {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", len(values))
	head += strings.Repeat(" ", (64-(10+len(head)+1)%64)%64) + "\n"
	b := []byte("\x93NUMPY\x01\x00")
	b = le.AppendUint16(b, uint16(len(head)))
	b = append(b, head...)
	for _, v := range values {
		b = le.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// pickleOf is the pickle of {"w": a tensor of two float32 at the first element of storage 0, "epoch": 5}.
const pickleOf = "\x80\x02}(X\x01\x00\x00\x00w" + "ctorch._utils\n_rebuild_tensor_v2\n(" +
	"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ" +
	"K\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR" + "X\x05\x00\x00\x00epochK\x05u."

// flipSample is a small file, and what no checksum in it covers.
type flipSample struct {
	name string
	kind string
	b    []byte
	bare []bareRange
}

func flipSamples(t testing.TB) []flipSample {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	var list []flipSample
	add := func(name, kind string, b []byte, covered ...bareRange) {
		list = append(list, flipSample{name, kind, b, complement(int64(len(b)), covered...)})
	}
	b, contents := flipZip(t, zipped{"a.npy", npyOf(1, 2), false}, zipped{"b.npy", npyOf(3), true})
	add("npz", "npz", b, contents...)
	b, contents = flipZip(t,
		zipped{"m/data.pkl", []byte(pickleOf), false}, zipped{"m/byteorder", []byte("little"), false},
		zipped{"m/data/0", make([]byte, 16), false}, zipped{"m/version", []byte("3\n"), false}, zipped{"m/.format_version", []byte("1"), false})
	add("PyTorch", "torch", b, contents[:4]...) // nothing reads .format_version
	b, contents = flipZip(t,
		zipped{"m/data.pkl", []byte(pickleOf), true}, zipped{"m/byteorder", []byte("big"), true}, zipped{"m/data/0", make([]byte, 16), true})
	add("PyTorch, deflated", "torch", b, contents...)
	head := `{"__metadata__":{"epoch":"5"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	b = append(le.AppendUint64(nil, uint64(len(head))), head...)
	add("safetensors", "safetensors", append(b, 0, 0, 128, 63, 0, 0, 0, 64))
	for _, o := range []struct {
		name string
		o    *format.WriteOptions
	}{
		{"MLE", &format.WriteOptions{Format: mle.Format{}}},
		{"MLE, compressed", &format.WriteOptions{Compression: "zstd", Format: mle.Format{}}},
		{"MLE, chunked", &format.WriteOptions{Compression: "lz4", Format: mle.Format{Chunked: true}}},
		{"MLE, float16", &format.WriteOptions{Format: mle.Format{Lossy: mle.MethodFloat16}}},
		{"MLE, signed", &format.WriteOptions{Compression: "zstd", Signer: ed25519.NewKeyFromSeed(make([]byte, 32)), Format: mle.Format{}}},
	} {
		b := flipModel(t, "mle", o.o)
		section := func(at int) bareRange {
			from := int64(le.Uint64(b[at:]))
			return bareRange{from, from + int64(le.Uint64(b[at+8:]))}
		}
		covered := []bareRange{{0, int64(le.Uint32(b[12:]))}, section(16), section(32), section(48)}
		if o.o.Signer != nil {
			signature := section(64)
			covered = []bareRange{{0, signature.From}, {signature.To, int64(len(b))}}
		}
		add(o.name, "mle", b, covered...)
	}
	for _, o := range []struct {
		name string
		o    *format.WriteOptions
	}{
		{"WIA", &format.WriteOptions{Format: wia.Format{}}},
		{"WIA, compressed", &format.WriteOptions{Compression: "gzip", Format: wia.Format{CompressTensor: func(tensor.Info) wia.Compression { return wia.Zstd }}}},
		{"WIA, signed", &format.WriteOptions{Signer: signer, Format: wia.Format{}}},
	} {
		b := flipModel(t, "wia", o.o)
		covered := []bareRange{{0, 256}}
		for at := 8; at < 56; at += 16 { // metadata, graph, tensors; the signature block has the checksums
			from := int64(le.Uint64(b[at:]))
			covered = append(covered, bareRange{from, from + int64(le.Uint64(b[at+8:]))})
		}
		add(o.name, "wia", b, covered...)
	}
	return list
}

// flipModel returns a model of two tensors with metadata and a graph.
func flipModel(t testing.TB, kind string, o *format.WriteOptions) []byte {
	t.Helper()
	p := simple(kind, false, true)
	p.Metadata = schema.Metadata{{Key: "epoch", Value: int64(5)}}
	for i := range p.Tensors {
		p.Tensors[i].Shape = tensor.Shape{2, 2}
	}
	var out bytes.Buffer
	w, err := format.NewWriter(&out, p, o)
	expect.OK(t, feed(p, w, err))
	return out.Bytes()
}

// flipped is what a file says.
type flipped struct {
	Metadata schema.Metadata
	Graph    *schema.Graph
	Tensors  []tensorSaid
}

type tensorSaid struct {
	Info  string
	Bytes []byte
}

// sayAll reads and verifies all of a file.
func sayAll(kind string, b []byte) (*flipped, *format.Coverage, error) {
	m, err := format.OpenBytes(b, &format.Options{Format: formatNamed(kind)})
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	covered, err := m.Verify(context.Background(), nil)
	if err != nil {
		return nil, nil, err
	}
	s := &flipped{}
	s.Metadata, err = m.Metadata()
	if err != nil {
		return nil, nil, err
	}
	s.Graph, err = m.Graph()
	if err != nil {
		return nil, nil, err
	}
	for name, v := range m.Tensors() {
		data, err := v.Bytes()
		if err != nil {
			return nil, nil, err
		}
		s.Tensors = append(s.Tensors, tensorSaid{fmt.Sprintf("%q %v %v", name, v.DType(), v.Shape()), bytes.Clone(data)})
	}
	return s, covered, nil
}

// TestEveryBit flips each bit of small files. The result is an error of opening, verifying or reading, or the same model, or
// the bit is in a byte that by the layout of the file no checksum covers. Coverage says that of the same bytes.
func TestEveryBit(t *testing.T) {
	for _, s := range flipSamples(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want, covered, err := sayAll(s.kind, s.b)
			expect.OK(t, err)
			if len(want.Tensors) == 0 {
				t.Fatal("no tensors")
			}
			var bare []bareRange
			for r := range covered.Uncovered() {
				last := len(bare) - 1
				if last >= 0 && bare[last].To == r.Offset {
					bare[last].To += r.Size
					continue
				}
				bare = append(bare, bareRange{r.Offset, r.Offset + r.Size})
			}
			expect.Equal(t, s.bare, bare)
			isBare := func(at int) bool {
				return slices.ContainsFunc(s.bare, func(r bareRange) bool { return r.From <= int64(at) && int64(at) < r.To })
			}
			refused, same, changed := 0, 0, 0
			b := bytes.Clone(s.b)
			for at := range b {
				for bit := range 8 {
					b[at] ^= 1 << bit
					got, _, err := sayAll(s.kind, b)
					b[at] ^= 1 << bit
					switch {
					case err != nil:
						refused++
					case cmp.Equal(want, got):
						same++
					case isBare(at):
						changed++
					default:
						t.Errorf("bit %d of byte %d of %d changes the model, and a checksum covers it (-want +got)\n%s", bit, at, len(b), cmp.Diff(want, got))
					}
				}
			}
			t.Logf("%d bytes: %d bits refused, %d change nothing, %d change bytes that nothing covers", len(b), refused, same, changed)
		})
	}
}
