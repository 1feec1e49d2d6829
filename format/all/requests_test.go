package all

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// TestRequests: Model.Load gets from models of all formats what slices of views show, with elements of all kinds.
func TestRequests(t *testing.T) {
	for name, p := range sources() {
		t.Run(name, func(t *testing.T) {
			name, _, _ = strings.Cut(name, " ")
			m := source(t, name, p)
			defer m.Close()
			loadAll(t, m)
		})
	}
}

// TestRequestsStored does so with larger tensors, opened in every way, that are stored as they are, compressed and encrypted, with
// their checksums compared on first use and without.
func TestRequestsStored(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	for _, tt := range []struct {
		format  string
		storage format.Storage
	}{
		{"tsr", format.Storage{}}, {"mag", format.Storage{}}, {"mobi", format.Storage{}}, {"mobi", format.Storage{Compression: "gzip"}},
		{"mle", format.Storage{}}, {"mle", format.Storage{Compression: "zstd"}}, {"mle", format.Storage{Key: key}},
		{"wia", format.Storage{}}, {"wia", format.Storage{Compression: "gzip"}}, {"wia", format.Storage{Key: key}},
		{"safetensors", format.Storage{}}, {"gguf", format.Storage{}}, {"npz", format.Storage{}}, {"onnx", format.Storage{}},
	} {
		p := &format.Plan{Tensors: []tensor.Info{list(tensor.Float32, "0", 3, 40, 50), list(tensor.Float32, "1", 300_000), list(tensor.Float32, "2", 2, 600, 300)}}
		if tt.format == "tsr" {
			p.Tensors = p.Tensors[2:]
		}
		path := filepath.Join(t.TempDir(), "m."+tt.format)
		w, err := format.Create(tt.format, path, p, &format.WriteOptions{Storage: tt.storage, NoSync: true})
		if err != nil {
			t.Fatal(tt, err)
		}
		for i, info := range p.Tensors {
			err = errors.Join(err, w.WriteTensor(info.Name, bytes.NewReader(fill(i, info))))
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(tt, err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, check := range []format.Check{format.CheckStructure, format.CheckTouch} {
			o := &format.Options{Format: tt.format, Key: tt.storage.Key, Check: check, Workers: 2}
			for way, open := range map[string]func() (*format.Model, error){
				"path":   func() (*format.Model, error) { return format.Open(path, o) },
				"bytes":  func() (*format.Model, error) { return format.OpenBytes(append(make([]byte, 1), data...)[1:], o) },
				"reader": func() (*format.Model, error) { return format.OpenReaderAt(bytes.NewReader(data), int64(len(data)), o) },
			} {
				t.Run(tt.format+tt.storage.Compression+"/"+way, func(t *testing.T) {
					m, err := open()
					if err != nil {
						t.Fatal(err)
					}
					defer m.Close()
					loadAll(t, m)
				})
			}
		}
	}
}

// loadAll loads every tensor of m, and a random slice of each, as bytes and as numbers.
func loadAll(t *testing.T, m *format.Model) {
	r := rand.New(rand.NewPCG(1, 2))
	var requests []format.Request
	for name, v := range m.Tensors() {
		var slice []tensor.Range
		for _, d := range v.Shape() {
			from := r.Int64N(max(1, d))
			slice = append(slice, tensor.Range{From: from, To: max(from, min(d, from+1+r.Int64N(max(1, d))))})
		}
		requests = append(requests, request(t, name, v)...)
		if v.Info().Encoding == nil {
			requests = append(requests, request(t, name, v, slice...)...)
		}
	}
	var done, total int64
	if err := m.Load(t.Context(), requests, func(d, n int64, _ string) { done, total = d, n }); err != nil {
		t.Fatal(err)
	}
	if done != total {
		t.Errorf("%d of %d bytes were reported", done, total)
	}
	for _, q := range requests {
		v, err := m.Tensor(q.Tensor)
		if err == nil {
			v, err = v.Slice(q.Slice...)
		}
		if err != nil {
			t.Fatal(err)
		}
		want, got := make([]byte, v.Info().Size), q.Bytes
		if q.Floats != nil {
			floats, err := tensor.Decode[float32](nil, v)
			if err != nil {
				t.Fatal(err)
			}
			want, got = memory.BytesOf(floats), memory.BytesOf(q.Floats)
		} else if _, err := v.ReadInto(want); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%v of %v: differs", q.Slice, v)
		}
	}
}

// request asks for a slice of a tensor as bytes, and as numbers if it has any.
func request(t *testing.T, name string, v tensor.View, slice ...tensor.Range) []format.Request {
	s, err := v.Slice(slice...)
	if err != nil {
		t.Fatal(err)
	}
	all := []format.Request{{Tensor: name, Slice: slice, Bytes: make([]byte, s.Info().Size)}}
	if _, err := tensor.Decode[float32](nil, s); err == nil {
		all = append(all, format.Request{Tensor: name, Slice: slice, Floats: make([]float32, s.Len())})
	}
	return all
}
