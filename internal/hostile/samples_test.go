package hostile

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tsr"
	"github.com/weightmap/weightmap/wia"
)

// sample is a model stored in one of a format's ways, in two generations of the same layout with
// different data.
type sample struct {
	format, name string
	open         string // the file to open, "" for the directory
	graph        bool
	storage      format.WriteOptions
	create       creator // nil for format.Create
	trust        format.Trust

	summed  bool // checksums cover all tensor data
	private bool // opening checks the checksums of names, shapes and metadata

	files [2]map[string][]byte // of each generation, by slash-separated name
}

type creator func(path string, p *schema.Schema, o format.WriteOptions) (*format.Writer, error)

func (s *sample) String() string { return s.format + " " + s.name }

func (s *sample) options() *format.Options { return &format.Options{Key: s.storage.Key} }

// sealed reports whether returned data is authenticated.
func (s *sample) sealed() bool { return s.storage.Key != nil }

// bytes returns a generation of a sample that is one file.
func (s *sample) bytes(generation int) []byte { return s.files[generation][s.open] }

var (
	secret   = bytes.Repeat([]byte{5}, 32)
	edKey    = ed25519.NewKeyFromSeed(secret)
	ecKey, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)

	encrypted = format.WriteOptions{Key: secret}
	outside   = format.WriteOptions{ExternalFrom: 1}
)

// list has one or more samples of every format.
var list = []*sample{
	{format: "mobi", name: "plain", open: "m", graph: true, summed: true},
	{format: "mobi", name: "gzip", open: "m", graph: true, summed: true, storage: format.WriteOptions{Compression: "gzip"}},
	{format: "mag", name: "v1", open: "m", summed: true, private: true},
	{format: "mag", name: "snapshot", open: "m", private: true, storage: format.WriteOptions{Format: mag.Format{Snapshot: true}}},
	{format: "tsr", name: "file", open: "m"},
	{format: "tsr", name: "directory", create: func(path string, p *schema.Schema, o format.WriteOptions) (*format.Writer, error) {
		return format.Create(path+"/", p, o.With(tsr.Format{}))
	}},
	{format: "mle", name: "plain", open: "m", graph: true, summed: true, private: true},
	{format: "mle", name: "lz4", open: "m", graph: true, summed: true, private: true, storage: format.WriteOptions{Compression: "lz4"}},
	{format: "mle", name: "zstd chunks", open: "m", graph: true, summed: true, private: true, storage: format.WriteOptions{Compression: "zstd", Format: mle.Format{Chunked: true, ChunkSize: 1024}}},
	{format: "mle", name: "float16", open: "m", graph: true, summed: true, private: true, storage: format.WriteOptions{Format: mle.Format{Lossy: mle.MethodFloat16}}},
	{format: "mle", name: "encrypted", open: "m", graph: true, summed: true, private: true, storage: encrypted},
	{format: "mle", name: "signed", open: "m", graph: true, summed: true, private: true, storage: format.WriteOptions{Signer: edKey}, trust: format.TrustKey(edKey.Public())},
	{format: "wia", name: "plain", open: "m.wia", graph: true, summed: true},
	{format: "wia", name: "compressed", open: "m.wia", graph: true, summed: true, storage: format.WriteOptions{Compression: "zstd", Format: wia.Format{
		CompressTensor: func(tensor.Info) wia.Compression { return wia.Gzip },
	}}},
	{format: "wia", name: "encrypted", open: "m.wia", graph: true, summed: true, storage: encrypted},
	{format: "wia", name: "signed", open: "m.wia", graph: true, summed: true, storage: format.WriteOptions{Signer: ecKey}, trust: format.TrustKey(ecKey.Public())},
	{format: "wia", name: "external", open: "m.wia", summed: true, storage: outside},
	{format: "safetensors", name: "plain", open: "m"},
	{format: "gguf", name: "plain", open: "m"},
	{format: "npy", name: "array", open: "m.npy"},
	{format: "npz", name: "archive", open: "m", summed: true},
	{format: "onnx", name: "plain", open: "m.onnx", graph: true},
	{format: "onnx", name: "external", open: "m.onnx", storage: outside},
}

// schemaOf returns the schema of all samples: some kilobytes, with tensors of several pages and of a few bytes.
func schemaOf(generation int, graph bool) (*schema.Schema, [][]byte) {
	p := &schema.Schema{Metadata: schema.Metadata{{Key: "name", Value: fmt.Sprint("generation ", generation)}}}
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
		p.Graph = &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "8", DType: tensor.Float32, Dims: []schema.Dim{{Size: 3}}}},
			Outputs: []schema.ValueInfo{{Name: "9", DType: tensor.Float32, Dims: []schema.Dim{{Size: 3}}}},
			Nodes:   []schema.Node{{Op: "Add", Inputs: []string{"8", "1"}, Outputs: []string{"9"}}},
		}
	}
	return p, data
}

// everything allows every loss.
var everything = []string{"metadata", "graph", "label", "attribute", "value", "conversion", "name"}

// write writes a generation of s.
func (s *sample) write(t testing.TB, generation int) {
	t.Helper()
	dir := t.TempDir()
	p, data := schemaOf(generation, s.graph)
	if (s.format == "tsr" || s.format == "npy") && s.open != "" {
		p.Tensors, data = p.Tensors[3:], data[3:]
	}
	create := s.create
	if create == nil {
		create = func(path string, p *schema.Schema, o format.WriteOptions) (*format.Writer, error) {
			if o.Format == nil {
				o.Format = expect.Must(format.ByName(s.format))
			}
			return format.Create(path, p, &o)
		}
	}
	o := s.storage
	o.AcceptLoss = everything
	o.NoSync = true
	w, err := create(filepath.Join(dir, s.open), p, o)
	for i := 0; i < len(data) && err == nil; i++ {
		err = w.WriteTensor(p.Tensors[i].Name, bytes.NewReader(data[i]))
	}
	if err == nil {
		err = w.Close()
	}
	s.files[generation] = map[string][]byte{}
	err = errors.Join(err, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(dir, path)
			s.files[generation][filepath.ToSlash(name)], err = os.ReadFile(path)
		}
		return err
	}))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
}

var writeList sync.Once

// samples returns the list, with files.
func samples(t testing.TB) []*sample {
	writeList.Do(func() {
		for _, s := range list {
			s.write(t, 0)
			s.write(t, 1)
		}
	})
	return list
}

// TestSamples: the samples have the properties they claim, and every format has one.
func TestSamples(t *testing.T) {
	missing := format.Writable()
	for _, s := range samples(t) {
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == s.format })
		for generation := range s.files {
			dir := t.TempDir()
			store(t, dir, s.files[generation])
			o := s.options()
			o.Trusted = s.trust
			m, err := format.Open(filepath.Join(dir, s.open), o)
			expect.OK(t, err)
			c, err := m.Verify(t.Context(), nil)
			if err != nil || s.summed == strings.Contains(c.String(), "the data of") {
				t.Errorf("%v: %v, %v", s, c, err)
			}
			m.Close()
		}
	}
	if len(missing) > 0 {
		t.Errorf("no sample of %q", missing)
	}
}

// store writes files into a directory.
func store(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, b := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		expect.OK(t, os.WriteFile(path, b, 0o666))
	}
	testhost.RoundTimes(t, dir)
}
