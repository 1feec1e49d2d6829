package trusted

import (
	"archive/zip"
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/format/signing"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
	"github.com/weightmap/weightmap/wia"
)

// pieceSize is what the engine compares at once.
const pieceSize = 256 << 10

// elems is the number of elements of a tensor of a little more than a piece. A model has two of them.
const elems = pieceSize/4 + 464

// kind is a kind of model.
type kind struct {
	name, format string
	open         string       // the file that opens it, "" for the directory
	single       string       // the name of its only tensor: that of a file without a name, too
	bytes        bool         // it has a tensor of int8 with scales, too
	key          format.Trust // the signature is in the file; nil for one beside it
	o            format.WriteOptions
	create       func(path string, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) // nil for format.Create
	one          bool                                                                                // its other files are not used
	write        func(t *testing.T, dir string)                                                      // nil for create

	files []string          // sorted
	want  map[string]string // what the uses of a model return
	made  *model            // once it is made
}

var (
	bundleKey, _  = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	edKey         = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	ecKey, _      = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	external      = format.WriteOptions{ExternalFrom: 1}
	everyLoss     = []string{"metadata", "graph", "label", "attribute", "value", "conversion", "name", "quantization"}
	signedOutside = format.WriteOptions{ExternalFrom: 1, Signer: ecKey}
)

// kinds are all kinds of models: those of one file, and each that has several.
var kinds = []*kind{
	{name: "mobi", format: "mobi", open: "m.mobi"},
	{name: "mobi, gzip", format: "mobi", open: "m.mobi", o: format.WriteOptions{Compression: "gzip"}},
	{name: "mag", format: "mag", open: "m.mag"},
	{name: "tsr", format: "tsr", open: "tensor.tsr", single: "tensor"},
	{name: "tsr directory", format: "tsr", create: func(path string, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
		return format.Create(path+"/", p, o.With(tsr.Format{}))
	}},
	{name: "mle", format: "mle", open: "m.mle"},
	{name: "mle, zstd chunks", format: "mle", open: "m.mle", o: format.WriteOptions{Compression: "zstd", Format: mle.Format{Chunked: true, ChunkSize: 64 << 10}}},
	{name: "mle, signed inside", format: "mle", open: "m.mle", o: format.WriteOptions{Signer: edKey}, key: format.TrustKey(edKey.Public())},
	{name: "wia", format: "wia", open: "m.wia"},
	{name: "wia, compressed", format: "wia", open: "m.wia", o: format.WriteOptions{Format: wia.Format{CompressTensor: func(tensor.Info) wia.Compression { return wia.Zstd }}}},
	{name: "wia, external data", format: "wia", open: "m.wia", o: external},
	{name: "wia, signed inside", format: "wia", open: "m.wia", o: format.WriteOptions{Signer: ecKey}, key: format.TrustKey(ecKey.Public())},
	{name: "wia, external data, signed inside", format: "wia", open: "m.wia", o: signedOutside, key: format.TrustKey(ecKey.Public())},
	{name: "safetensors", format: "safetensors", open: "m.safetensors", bytes: true},
	{name: "safetensors, shards", format: "safetensors", open: "m.safetensors.index.json", o: format.WriteOptions{MaxShard: 4 * elems}},
	{name: "safetensors, one shard", format: "safetensors", open: "a.safetensors", one: true, write: writeShard},
	{name: "gguf", format: "gguf", open: "m.gguf"},
	{name: "gguf, split", format: "gguf", open: "m-00001-of-00002.gguf", o: format.WriteOptions{MaxShard: 4 * elems}},
	{name: "npy", format: "npy", open: "array.npy", single: "array"},
	{name: "npz", format: "npz", open: "m.npz"},
	{name: "onnx", format: "onnx", open: "m.onnx"},
	{name: "onnx, external data", format: "onnx", open: "m.onnx", o: external},
	{name: "torch", format: "torch", open: "m.pt", write: writeTorch},
	{name: "torch, unpacked", format: "torch", write: writeUnpacked},
	{name: "torch, shards", format: "torch", open: "pytorch_model.bin.index.json", write: writeTorchShards},
}

// numbers are different numbers, none of them NaN, that no codec makes much smaller.
func numbers(seed int) []byte {
	var b []byte
	for i := range uint32(elems) {
		bits := 0x3F000000 | (i+uint32(seed)*7919)*2654435761>>9
		b = binary.LittleEndian.AppendUint32(b, bits)
	}
	return b
}

// schema returns the schema of a kind, and the data of its tensors.
func (k *kind) schema() (p *schema.Schema, data [][]byte) {
	p = &schema.Schema{Metadata: schema.Metadata{{Key: "note", Value: "signed"}}}
	add := func(name string, d tensor.DType, s tensor.Shape, b []byte) {
		p.Tensors = append(p.Tensors, tensor.Info{Name: name, DType: d, Shape: s})
		data = append(data, b)
	}
	if k.single != "" {
		add(k.single, tensor.Float32, tensor.Shape{2, elems}, append(numbers(1), numbers(2)...))
		return p, data
	}
	add("1", tensor.Float32, tensor.Shape{elems}, numbers(1))
	add("2", tensor.Float32, tensor.Shape{elems / 100, 100}, numbers(2))
	if k.bytes {
		add("3", tensor.Int8, tensor.Shape{4, 64}, numbers(3)[:256])
	}
	if k.format == "onnx" || k.format == "wia" || k.format == "mobi" || k.format == "mle" {
		dims := []schema.Dim{{Size: elems}}
		p.Graph = &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "8", DType: tensor.Float32, Dims: dims}},
			Outputs: []schema.ValueInfo{{Name: "9", DType: tensor.Float32, Dims: dims}},
			Nodes:   []schema.Node{{Op: "Add", Inputs: []string{"8", "1"}, Outputs: []string{"9"}}},
		}
	}
	return p, data
}

// make writes a model of kind k into a new directory, and signs the directory. bundle is a file outside of it.
func (k *kind) make(t *testing.T) (dir, bundle string) {
	t.Helper()
	base, err := os.MkdirTemp(outputs, "kind")
	expect.OK(t, err)
	dir = filepath.Join(base, "model")
	bundle = filepath.Join(base, "model.sig")
	expect.OK(t, os.Mkdir(dir, 0o777))
	if k.write != nil {
		k.write(t, dir)
	} else {
		k.writeWith(t, filepath.Join(dir, k.open))
	}
	k.files = nil
	expect.OK(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			k.files = append(k.files, name)
		}
		return err
	}))
	sign(t, dir, bundle, 0)
	sign(t, dir, bundle+".ranges", 100_000)
	for _, name := range k.files {
		sign(t, dir, bundle+without(name), 0, name)
	}
	return dir, bundle
}

// without is what the name of a bundle without a file ends in.
func without(file string) string { return ".without." + strings.ReplaceAll(file, "/", ".") }

// writeWith writes a model with a Writer.
func (k *kind) writeWith(t *testing.T, path string) {
	t.Helper()
	create := k.create
	switch {
	case k.open == "m.safetensors.index.json":
		path = filepath.Join(filepath.Dir(path), "m.safetensors")
	case k.open == "m-00001-of-00002.gguf":
		path = filepath.Join(filepath.Dir(path), "m.gguf")
	}
	if create == nil {
		create = func(path string, p *schema.Schema, o *format.WriteOptions) (*format.Writer, error) {
			return format.Create(path, p, o)
		}
	}
	o := k.o
	o.NoSync, o.AcceptLoss = true, everyLoss
	p, data := k.schema()
	w, err := create(path, p, &o)
	expect.OK(t, err)
	for i, b := range data {
		expect.OK(t, w.WriteTensor(p.Tensors[i].Name, bytes.NewReader(b)))
	}
	expect.OK(t, w.Close())
}

// sign signs a directory without the files to ignore. ranges is the size of the signed ranges, 0 for whole files.
func sign(t *testing.T, dir, bundle string, ranges int64, ignore ...string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	expect.OK(t, err)
	if len(names) == len(ignore) { // a signature must have a file
		other := filepath.Join(dir, "other.txt")
		expect.OK(t, os.WriteFile(other, nil, 0o666))
		defer os.Remove(other)
	}
	b, err := signing.Sign(t.Context(), dir, signing.Signer{Key: bundleKey}, &signing.Options{ShardSize: ranges, Ignore: ignore})
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(bundle, b.Bytes(), 0o666))
}

// saved returns a file as torch.save writes it, of one tensor of float32.
func saved(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	text := func(s string) string {
		return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
	}
	number := func(n int) string { return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	storage := "(" + text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(len(data)/4) + "tQ"
	rebuilt := "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(0) + "(" + number(len(data)/4) + "t(" + number(1) + "t\x89ccollections\nOrderedDict\n)RtR"
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range []struct{ name, data string }{
		{"m/data.pkl", "\x80\x02}(" + text(name) + rebuilt + "u."}, {"m/byteorder", "little"}, {"m/data/0", string(data)}, {"m/version", "3\n"},
	} {
		size := uint64(len(e.data))
		h := &zip.FileHeader{Name: e.name, Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(e.data)), CompressedSize64: size, UncompressedSize64: size}
		expect.OK(t, w.Flush())
		pad := (64 - (b.Len()+30+len(e.name)+4)%64) % 64
		h.Extra = append([]byte{'F', 'B', byte(pad), 0}, make([]byte, pad)...)
		to, err := w.CreateRaw(h)
		expect.OK(t, err)
		_, err = to.Write([]byte(e.data))
		expect.OK(t, err)
	}
	expect.OK(t, w.Close())
	return b.Bytes()
}

// writeShard writes two shards whose names do not say that they are, and their index.
func writeShard(t *testing.T, dir string) {
	t.Helper()
	index := `{"metadata": {}, "weight_map": {"1": "a.safetensors", "2": "b.safetensors"}}`
	expect.OK(t, os.WriteFile(filepath.Join(dir, "m.safetensors.index.json"), []byte(index), 0o666))
	for i, name := range []string{"a.safetensors", "b.safetensors"} {
		v, err := tensor.FromBytes(fmt.Sprint(i+1), tensor.Float32, tensor.Shape{elems}, numbers(i+1))
		expect.OK(t, err)
		expect.OK(t, format.Save(t.Context(), filepath.Join(dir, name), nil, []tensor.View{v}, nil))
	}
}

func writeTorch(t *testing.T, dir string) {
	t.Helper()
	both := append(numbers(1), numbers(2)...)
	expect.OK(t, os.WriteFile(filepath.Join(dir, "m.pt"), saved(t, "1", both), 0o666))
}

// writeUnpacked writes the entries of an archive as files.
func writeUnpacked(t *testing.T, dir string) {
	t.Helper()
	b := saved(t, "1", append(numbers(1), numbers(2)...))
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	expect.OK(t, err)
	top, err := fs.Sub(r, "m")
	expect.OK(t, err)
	expect.OK(t, os.CopyFS(dir, top))
}

func writeTorchShards(t *testing.T, dir string) {
	t.Helper()
	part := func(i int) string { return fmt.Sprintf("pytorch_model-%05d-of-00002.bin", i) }
	index := fmt.Sprintf(`{"metadata": {"total_size": %d}, "weight_map": {"1": %q, "2": %q}}`, 8*elems, part(1), part(2))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "pytorch_model.bin.index.json"), []byte(index), 0o666))
	for i := 1; i <= 2; i++ {
		expect.OK(t, os.WriteFile(filepath.Join(dir, part(i)), saved(t, fmt.Sprint(i), numbers(i)), 0o666))
	}
}

// change is a byte of a file that another process writes.
type change struct {
	file string
	off  int64
	old  byte
}

func (c change) String() string { return fmt.Sprintf("%s at %d", c.file, c.off) }

// changes are the bytes of the files of a model in dir that a test changes: one at the beginning of each file, and the last of each piece.
func (k *kind) changes(t *testing.T, dir string) (list []change) {
	t.Helper()
	for _, file := range k.files {
		b := expect.Read(t, filepath.Join(dir, filepath.FromSlash(file)))
		offs := []int64{min(9, int64(len(b))-2)}
		for end := int64(pieceSize); end < int64(len(b)); end += pieceSize {
			offs = append(offs, end-1)
		}
		offs = append(offs, int64(len(b))-2)
		for _, off := range slices.Compact(offs) {
			list = append(list, change{file, off, b[off]})
		}
	}
	return list
}

// float32s returns numbers as little-endian bytes.
func float32s(list []float32) []byte {
	var b []byte
	for _, f := range list {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}
