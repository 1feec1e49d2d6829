package hostile

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
	"github.com/weightmap/weightmap/wia"
)

// sample is a model stored in one of a format's ways, in two generations of the same layout with
// different data.
type sample struct {
	format, name string
	// files has the files of each generation by slash-separated name; open is the one to open, "" for
	// the directory.
	files [2]map[string][]byte
	open  string
	key   []byte
	trust crypto.PublicKey

	summed  bool // checksums cover all tensor data
	private bool // opening checks the checksums of names, shapes and metadata
	sealed  bool // returned data is authenticated
}

func (s *sample) String() string { return s.format + " " + s.name }

func (s *sample) options() *format.Options { return &format.Options{Key: s.key} }

// bytes returns a generation of a sample that is one file.
func (s *sample) bytes(generation int) []byte { return s.files[generation][s.open] }

var (
	secret   = bytes.Repeat([]byte{5}, 32)
	edKey    = ed25519.NewKeyFromSeed(secret)
	edPublic = edKey.Public()
	ecKey, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
)

// plan is the plan of all samples: some kilobytes, with tensors of several pages and of a few bytes.
func plan(generation int, graph bool) (*format.Plan, [][]byte) {
	p := &format.Plan{Metadata: format.Metadata{{Key: "name", Value: fmt.Sprint("generation ", generation)}}}
	var data [][]byte
	for i, shape := range []tensor.Shape{{3}, {40, 30}, {7, 5}, {2000}} {
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprint(i + 1), DType: tensor.Float32, Shape: shape})
		n, _ := shape.Elems()
		b := make([]byte, 4*n)
		for k := range n {
			binary.LittleEndian.PutUint32(b[4*k:], uint32(generation+1)<<24|uint32(i)<<16|uint32(k)&0xFFF)
		}
		data = append(data, b)
	}
	if graph {
		p.Graph = &format.Graph{
			Inputs:  []format.ValueInfo{{Name: "8", DType: tensor.Float32, Dims: []format.Dim{{Size: 3}}}},
			Outputs: []format.ValueInfo{{Name: "9", DType: tensor.Float32, Dims: []format.Dim{{Size: 3}}}},
			Nodes:   []format.Node{{Op: "Add", Inputs: []string{"8", "1"}, Outputs: []string{"9"}}},
		}
	}
	return p, data
}

type newWriter func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error)

// everything allows every loss.
var everything = []string{"metadata", "graph", "label", "attribute", "value", "conversion", "name"}

// written returns a sample of one file.
func written(t testing.TB, name string, graph bool, s sample, create newWriter) *sample {
	t.Helper()
	s.name = name
	s.open = "m"
	for generation := range s.files {
		p, data := plan(generation, graph)
		if s.format == "tsr" || s.format == "npy" {
			p.Tensors, data = p.Tensors[3:], data[3:]
		}
		var out bytes.Buffer
		w, err := create(&out, p, format.WriteOptions{Spool: format.SpoolMemory, AcceptLoss: everything})
		for i := 0; i < len(data) && err == nil; i++ {
			err = w.WriteTensor(p.Tensors[i].Name, bytes.NewReader(data[i]))
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatalf("%s %s: %v", s.format, name, err)
		}
		s.files[generation] = map[string][]byte{"m": out.Bytes()}
	}
	return &s
}

// inDirectory returns a sample of several files.
func inDirectory(t testing.TB, s sample, create func(path string, p *format.Plan, c format.WriteOptions) (*format.Writer, error)) *sample {
	t.Helper()
	dir := t.TempDir()
	for generation := range s.files {
		p, data := plan(generation, false)
		for i := range p.Tensors {
			p.Tensors[i].Name = "t" + p.Tensors[i].Name
		}
		w, err := create(filepath.Join(dir, s.open), p, format.WriteOptions{AcceptLoss: everything, NoSync: true})
		for i := 0; i < len(data) && err == nil; i++ {
			err = w.WriteTensor(p.Tensors[i].Name, bytes.NewReader(data[i]))
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatalf("%s: %v", &s, err)
		}
		s.files[generation] = map[string][]byte{}
		err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				name, _ := filepath.Rel(dir, path)
				s.files[generation][filepath.ToSlash(name)], err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		os.RemoveAll(filepath.Join(dir, s.open))
	}
	return &s
}

// samples returns one or more samples of every format.
func samples(t testing.TB) []*sample {
	samplesOnce.Do(func() { samplesMade = makeSamples(t) })
	return samplesMade
}

var (
	samplesOnce sync.Once
	samplesMade []*sample
)

func makeSamples(t testing.TB) []*sample {
	mleWith := func(o mle.WriteOptions) newWriter {
		return func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			o.WriteOptions = c
			return mle.NewWriter(w, p, &o)
		}
	}
	wiaWith := func(o wia.WriteOptions) newWriter {
		return func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			o.WriteOptions = c
			return wia.NewWriter(w, p, &o)
		}
	}
	magWith := func(o mag.WriteOptions) newWriter {
		return func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			o.WriteOptions = c
			return mag.NewWriter(w, p, &o)
		}
	}
	zip := func(tensor.Info) wia.Compression { return wia.Gzip }
	mleSums, wiaSums := sample{format: "mle", summed: true, private: true}, sample{format: "wia", summed: true}
	trusted, sealed := mleSums, mleSums
	trusted.trust, sealed.key, sealed.sealed = edPublic, secret, true
	wiaTrusted, wiaSealed := wiaSums, wiaSums
	wiaTrusted.trust, wiaSealed.key, wiaSealed.sealed = ecKey.Public(), secret, true
	return []*sample{
		written(t, "plain", true, sample{format: "mobi", summed: true}, func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return mobi.NewWriter(w, p, &mobi.WriteOptions{WriteOptions: c})
		}),
		written(t, "gzip", true, sample{format: "mobi", summed: true}, func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return mobi.NewWriter(w, p, &mobi.WriteOptions{WriteOptions: c, Gzip: 6})
		}),
		written(t, "v1", false, sample{format: "mag", summed: true, private: true}, magWith(mag.WriteOptions{})),
		written(t, "snapshot", false, sample{format: "mag", private: true}, magWith(mag.WriteOptions{Snapshot: true})),
		written(t, "file", false, sample{format: "tsr"}, func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return tsr.NewWriter(w, p, &tsr.WriteOptions{WriteOptions: c})
		}),
		inDirectory(t, sample{format: "tsr", name: "directory"}, func(path string, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return tsr.CreateDir(path, p, &tsr.WriteOptions{WriteOptions: c})
		}),
		written(t, "plain", true, mleSums, mleWith(mle.WriteOptions{})),
		written(t, "lz4", true, mleSums, mleWith(mle.WriteOptions{Compression: mle.MethodLZ4})),
		written(t, "zstd chunks", true, mleSums, mleWith(mle.WriteOptions{Compression: mle.MethodZstd, Chunked: true, ChunkSize: 1024})),
		written(t, "float16", true, mleSums, mleWith(mle.WriteOptions{Compression: mle.MethodFloat16})),
		written(t, "encrypted", true, sealed, mleWith(mle.WriteOptions{Key: secret})),
		written(t, "signed", true, trusted, mleWith(mle.WriteOptions{Signer: edKey})),
		written(t, "plain", true, wiaSums, wiaWith(wia.WriteOptions{})),
		written(t, "compressed", true, wiaSums, wiaWith(wia.WriteOptions{Compression: wia.Zstd, CompressTensor: zip})),
		written(t, "encrypted", true, wiaSealed, wiaWith(wia.WriteOptions{Key: secret})),
		written(t, "signed", true, wiaTrusted, wiaWith(wia.WriteOptions{Signer: ecKey})),
		inDirectory(t, sample{format: "wia", name: "external", open: "m.wia", summed: true}, func(path string, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return wia.Create(path, p, &wia.WriteOptions{WriteOptions: c, ExternalFrom: 1, External: "below/w.data"})
		}),
		written(t, "plain", false, sample{format: "safetensors"}, func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return format.NewWriter("safetensors", w, p, &c)
		}),
		written(t, "plain", false, sample{format: "gguf"}, func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return gguf.NewWriter(w, p, &c)
		}),
		written(t, "array", false, sample{format: "npy"}, func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return npy.NewWriter(w, p, &c)
		}),
		written(t, "archive", false, sample{format: "npz", summed: true}, func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return npy.NewArchiveWriter(w, p, &c)
		}),
		written(t, "plain", true, sample{format: "onnx"}, func(w io.Writer, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return onnx.NewWriter(w, p, &onnx.WriteOptions{WriteOptions: c})
		}),
		inDirectory(t, sample{format: "onnx", name: "external", open: "m.onnx"}, func(path string, p *format.Plan, c format.WriteOptions) (*format.Writer, error) {
			return onnx.Create(path, p, &onnx.WriteOptions{WriteOptions: c, ExternalFrom: 1})
		}),
	}
}

// TestSamples: the samples have the properties they claim, and every format has one.
func TestSamples(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range samples(t) {
		seen[s.format] = true
		for generation := range s.files {
			dir := t.TempDir()
			store(t, dir, s.files[generation])
			o := s.options()
			o.Trusted = s.trust
			m, err := format.Open(filepath.Join(dir, s.open), o)
			if err != nil {
				t.Errorf("%v: %v", s, err)
				continue
			}
			c, err := m.Verify(t.Context())
			if err != nil || s.summed != (len(c.Uncovered()) == 0) {
				t.Errorf("%v: %v, %v", s, c, err)
			}
			m.Close()
		}
	}
	for _, name := range format.Writable() {
		if !seen[name] {
			t.Errorf("no sample of %s", name)
		}
	}
}

// store writes files into a directory.
func store(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, b := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	testhost.RoundTimes(t, dir)
}
