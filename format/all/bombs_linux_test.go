package all_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/wia"
)

// bomb is a small file with compressed content that is large, has many objects, or is deeply nested.
type bomb struct {
	codec   string
	section string // format and part: "wia graph"
	kind    string // bySize, byObjects, byNesting
	ext     string
	b       []byte
}

const (
	bySize    = "size"
	byObjects = "objects"
	byNesting = "nesting"
)

func (b *bomb) name() string { return b.codec + ", " + b.section + ", by " + b.kind }

// packers are the codecs of internal/codec, each with an independent compressor, and the two of MLE that round numbers.
var packers = map[string]func(t testing.TB, b []byte) []byte{
	"gzip": func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		return closed(t, &out, gzip.NewWriter(&out), b)
	},
	"deflate": func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		w, err := flate.NewWriter(&out, flate.BestCompression)
		expect.OK(t, err)
		return closed(t, &out, w, b)
	},
	"zstd": func(t testing.TB, b []byte) []byte {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		expect.OK(t, err)
		return w.EncodeAll(b, nil)
	},
	"brotli": func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		return closed(t, &out, brotli.NewWriterLevel(&out, 1), b)
	},
	"lz4": func(t testing.TB, b []byte) []byte {
		out := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlock(b, out, nil)
		expect.OK(t, err)
		return out[:n]
	},
	"int8":    func(_ testing.TB, b []byte) []byte { return make([]byte, 8+len(b)/4) },
	"float16": func(_ testing.TB, b []byte) []byte { return make([]byte, len(b)/2) },
}

func closed(t testing.TB, out *bytes.Buffer, w io.WriteCloser, b []byte) []byte {
	t.Helper()
	_, err := w.Write(b)
	expect.OK(t, err)
	expect.OK(t, w.Close())
	return out.Bytes()
}

// objectBytes is the size of content that is within the limit of size, 16 MiB.
const objectBytes = 15 * mib

// bombBytes returns the size of the content of bombs by size, which takes time to compress.
func bombBytes() int {
	if testhost.Nightly() {
		return 128 * mib
	}
	return 20 * mib
}

// Contents of structure, by kind.
var (
	bombJSON = map[string]func() string{
		bySize:    func() string { return `{"a":"` + strings.Repeat("a", bombBytes()) + `"}` },
		byObjects: func() string { return `{"a":[` + strings.Repeat("{},", objectBytes/3) + `{}]}` },
		byNesting: func() string { return `{"a":` + strings.Repeat("[", mib) + strings.Repeat("]", mib) + `}` },
	}
	bombGraph = map[string]func() string{
		bySize:    func() string { return string(field(1, make([]byte, bombBytes()))) },
		byObjects: func() string { return string(crowd(objectBytes, field(2))) },
		byNesting: func() string { // graphs in attributes of nodes
			var b []byte
			for range 2000 {
				b = field(2, field(5, field(6, b)))
			}
			return string(b)
		},
	}
	bombPickle = map[string]func() string{
		bySize:    func() string { return "\x80\x02" + strings.Repeat("N", bombBytes()) + "." },
		byObjects: func() string { return "\x80\x02(" + strings.Repeat("]", objectBytes) + "l." },
		byNesting: func() string { return "\x80\x02" + strings.Repeat("]", mib) + strings.Repeat("a", mib-1) + "." },
	}
)

// bombs has a bomb for each codec, compressed section and kind.
func bombs(t testing.TB) (list []bomb) {
	t.Helper()
	kinds := []string{bySize, byObjects, byNesting}
	for c := wia.Compression(1); !strings.Contains(c.String(), "("); c++ {
		pack := func(s string) []byte { return packer(t, c.String())(t, []byte(s)) }
		add := func(section, kind string, b []byte) {
			list = append(list, bomb{c.String(), "wia " + section, kind, ".wia", b})
		}
		for _, kind := range kinds {
			add("metadata", kind, wiaFile(byte(c), pack(bombJSON[kind]()), pack(""), nil))
			add("graph", kind, wiaFile(byte(c), pack("{}"), pack(bombGraph[kind]()), nil))
		}
		tensor := field(2, field(1, field(1, []byte("w")), number(2, 64), number(3, 7)), number(2, uint64(c)), field(3, pack(strings.Repeat("\x00", bombBytes()))), number(4, 64))
		add("tensor", bySize, wiaFile(0, nil, nil, tensor))
	}
	for m := mle.MethodNone + 1; m.Name() != fmt.Sprint(uint8(m)); m++ {
		stored := packer(t, m.Name())(t, make([]byte, bombBytes()))
		list = append(list, bomb{m.Name(), "mle weights", bySize, ".mle", mleBomb(m, stored)})
	}
	list = append(list, bomb{"gzip", "mobi constant", bySize, ".mobi", mobiBomb(packer(t, "gzip")(t, make([]byte, bombBytes())))})
	list = append(list, bomb{"deflate", "npz array", bySize, ".npz", zipBomb(t, "w.npy", npyOf(make([]float32, 16)...), append(npyOf(make([]float32, 16)...), make([]byte, bombBytes())...))})
	list = append(list, bomb{"deflate", "torch storage", bySize, ".pt", zipBomb(t, "m/data/0", make([]byte, 16), make([]byte, bombBytes()))})
	list = append(list, bomb{"deflate", "torch byteorder", bySize, ".pt", zipBomb(t, "m/byteorder", []byte("little"), make([]byte, bombBytes()))})
	for _, kind := range kinds {
		content := []byte(bombPickle[kind]())
		list = append(list, bomb{"deflate", "torch data.pkl", kind, ".pt", zipBomb(t, "m/data.pkl", content, content)})
	}
	return list
}

func packer(t testing.TB, codec string) func(testing.TB, []byte) []byte {
	t.Helper()
	pack := packers[codec]
	if pack == nil {
		t.Fatalf("no bomb of the codec %s", codec)
	}
	return pack
}

// mleBomb has a tensor of 64 bytes whose weights are compressed.
func mleBomb(m mle.Method, stored []byte) []byte {
	descriptor := make([]byte, 56)
	le.PutUint64(descriptor[8:], 64)
	le.PutUint32(descriptor[16:], 1)
	le.PutUint32(descriptor[20:], 16)
	compression := []byte{byte(m), 6, 0, 0}
	compression = le.AppendUint64(compression, 64)
	compression = le.AppendUint32(compression, crc32.ChecksumIEEE(make([]byte, 64)))
	bits := map[mle.Method]byte{mle.MethodInt8: 8, mle.MethodFloat16: 16}
	compression = append(compression, bits[m], 0, 0, 0)
	return mleFile(uint32(mle.Compression), nil, mleGraph(descriptor, nil, nil), stored, compression)
}

// mobiBomb has a constant of 64 bytes that is compressed.
func mobiBomb(stored []byte) []byte {
	b := make([]byte, 8)
	le.PutUint16(b[4:], 0x8000|2) // int8
	le.PutUint16(b[6:], 1)
	b = le.AppendUint64(b, 64)
	b = le.AppendUint64(b, uint64(len(stored)))
	return mobiFile(noSpecs, append(b, stored...), make([]byte, 4))
}

// zipBomb has an entry whose directory has the size and the checksum of claimed, and whose content is content. The other
// entries of a PyTorch file are as they should be.
func zipBomb(t testing.TB, name string, claimed, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	entries := []zipped{{name, claimed, true}}
	if strings.HasPrefix(name, "m/") {
		for _, e := range []zipped{{"m/data.pkl", []byte(pickleOf), false}, {"m/byteorder", []byte("little"), false}, {"m/data/0", make([]byte, 16), false}} {
			if e.name != name {
				entries = append(entries, e)
			}
		}
	}
	for _, e := range entries {
		stored := e.data
		method := zip.Store
		if e.packed {
			stored = packers["deflate"](t, content)
			method = zip.Deflate
		}
		to, err := w.CreateRaw(&zip.FileHeader{
			Name: e.name, Method: method, CRC32: crc32.ChecksumIEEE(e.data),
			CompressedSize64: uint64(len(stored)), UncompressedSize64: uint64(len(e.data)),
		})
		expect.OK(t, err)
		_, err = to.Write(stored)
		expect.OK(t, err)
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}

const bombEnv = "WEIGHTMAP_BOMBS"

// exploded is what came of a bomb.
type exploded struct {
	Name string
	Peak int64 // the most that was live
	Err  string
}

// TestBombChild is the process that TestBombs starts. Alone it does nothing.
func TestBombChild(t *testing.T) {
	dir := os.Getenv(bombEnv)
	if dir == "" {
		t.Skip("it is run by TestBombs")
	}
	expect.OK(t, syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: processLimit, Max: processLimit}))
	debug.SetGCPercent(testhost.HeapPercent)
	files, err := os.ReadDir(dir)
	expect.OK(t, err)
	heap := testhost.WatchHeap()
	for _, f := range files {
		heap.Reset()
		err := useAll(filepath.Join(dir, f.Name()))
		x := exploded{Name: f.Name(), Peak: heap.Peak()}
		if err != nil {
			x.Err = err.Error()
		}
		line, err := json.Marshal(x)
		expect.OK(t, err)
		fmt.Printf("\nbomb %s\n", line)
	}
}

// useAll opens and verifies a model, and reads all tensors.
func useAll(path string) error {
	m, err := format.Open(path, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	if _, err := m.Graph(); err != nil {
		return err
	}
	if _, err := m.Metadata(); err != nil {
		return err
	}
	if _, err := m.Verify(context.Background(), nil); err != nil {
		return err
	}
	for _, v := range m.Tensors() {
		if _, err := v.Bytes(); err != nil {
			return err
		}
	}
	return nil
}

// mostOfBomb is the most that a bomb may take: what a section of 16 MiB that is within the limits may cost.
const mostOfBomb = 96 * mib

// TestBombs opens bombs of each codec in each compressed section of each format, in a process that may have 512 MB. Each takes
// a fraction of that, and those by size and by nesting are refused.
func TestBombs(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip("it takes seconds")
	case testhost.Race:
		t.Skip("the race detector takes memory too")
	}
	dir := t.TempDir()
	list := bombs(t)
	areAll(t, list)
	for i := range list {
		expect.OK(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d%s", i, list[i].ext)), list[i].b, 0o600))
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestBombChild$", "-test.v")
	cmd.Env = append(os.Environ(), bombEnv+"="+dir, "GOMEMLIMIT=", "GOMAXPROCS=2")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the process ended: %v\n%.4000s", err, out)
	}
	seen := 0
	for _, line := range strings.Split(string(out), "\n") {
		text, ok := strings.CutPrefix(line, "bomb ")
		if !ok {
			continue
		}
		var x exploded
		expect.OK(t, json.Unmarshal([]byte(text), &x))
		b := &list[seen]
		seen++
		t.Logf("%-40s %7d bytes, %6.1f MiB at most: %.150s", b.name(), len(b.b), float64(x.Peak)/mib, x.Err)
		if x.Err == "" && b.kind != byObjects {
			t.Errorf("%s: it is read", b.name())
		}
		if x.Peak > mostOfBomb {
			t.Errorf("%s: %d bytes were live", b.name(), x.Peak)
		}
	}
	if seen != len(list) {
		t.Errorf("%d of %d bombs were tried", seen, len(list))
	}
}

// areAll checks that each codec and each format with compressed sections has its bombs.
func areAll(t *testing.T, list []bomb) {
	t.Helper()
	has := func(f func(b bomb) bool) bool { return slices.ContainsFunc(list, f) }
	dirs, err := os.ReadDir("../../internal/codec")
	expect.OK(t, err)
	for _, d := range dirs {
		if d.IsDir() && d.Name() != "testdata" && !has(func(b bomb) bool { return b.codec == d.Name() }) {
			t.Errorf("no bomb of the codec %s", d.Name())
		}
	}
	uncompressed := []string{"mag", "tsr", "safetensors", "gguf", "npy", "onnx"}
	for _, name := range format.Names() {
		if !slices.Contains(uncompressed, name) && !has(func(b bomb) bool { return strings.HasPrefix(b.section, name+" ") }) {
			t.Errorf("no bomb of the format %s", name)
		}
	}
	for _, section := range []string{"wia metadata", "wia graph", "torch data.pkl"} {
		for _, kind := range []string{bySize, byObjects, byNesting} {
			if !has(func(b bomb) bool { return b.section == section && b.kind == kind }) {
				t.Errorf("no bomb of the %s by %s", section, kind)
			}
		}
	}
}
