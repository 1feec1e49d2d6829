package all

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// What is tested here is what programs do with what they passed in: they change it, wipe it,
// and their functions panic.

// spoil changes all of a plan that a program may hold on to.
func spoil(p *format.Plan) {
	for i := range p.Tensors {
		t := &p.Tensors[i]
		t.Name, t.DType = "spoiled", tensor.Float64
		for k := range t.Shape {
			t.Shape[k] = 1 << 40
		}
		if q := t.Quant; q != nil {
			for k := range q.Scales {
				q.Scales[k] = 99
			}
			for k := range q.ZeroPoints {
				q.ZeroPoints[k] = 99
			}
			q.Scales, q.Axis, q.Scheme = append(q.Scales, 1, 2, 3), 1, tensor.Logarithmic
		}
		t.Quant = nil
	}
	for i := range p.Metadata {
		p.Metadata[i] = format.Metadata{{Key: "spoiled", Value: strings.Repeat("x", 1000)}}[0]
	}
	if p.Graph != nil {
		spoilGraph(p.Graph)
	}
	*p = format.Plan{}
}

func spoilGraph(g *format.Graph) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for _, list := range [][]string{n.Inputs, n.Outputs} {
			for k := range list {
				list[k] = "spoiled"
			}
		}
		for k := range n.Attributes {
			n.Attributes[k].Name, n.Attributes[k].Value = "spoiled", "spoiled"
		}
		n.Op, n.Name = "Spoiled", "spoiled"
	}
	for _, list := range [][]format.ValueInfo{g.Inputs, g.Outputs} {
		for i := range list {
			for k := range list[i].Dims {
				list[i].Dims[k].Size = 1 << 40
			}
			list[i].Name = "spoiled"
		}
	}
	*g = format.Graph{Name: "spoiled"}
}

// TestPlansMayChange: what a program does with its plan once there is a writer changes nothing.
func TestPlansMayChange(t *testing.T) {
	written := map[string]int{}
	for name := range sources() {
		for _, kind := range format.Writable() {
			for _, compression := range []string{"", "gzip", "zstd"} {
				want, err := writtenOf(t, name, kind, compression, func(*format.Plan) {})
				if err != nil {
					continue // it holds nothing like this
				}
				written[kind]++
				got, err := writtenOf(t, name, kind, compression, spoil)
				if err != nil || !bytes.Equal(want, got) {
					t.Errorf("%s in %s %s: %v, %s", name, kind, compression, err, gocmp.Diff(want, got))
				}
			}
		}
	}
	for _, kind := range format.Writable() {
		if written[kind] == 0 {
			t.Errorf("%s: nothing was written", kind)
		}
	}
}

// writtenOf returns what is written of a source when a program changes its plan.
func writtenOf(t *testing.T, name, kind, compression string, change func(*format.Plan)) ([]byte, error) {
	t.Helper()
	p := sources()[name]
	if kind == "npy" {
		p.Tensors = p.Tensors[:1]
		p.Tensors[0].Name = "m"
	}
	infos := slices.Clone(p.Tensors)
	var data [][]byte
	for k, info := range infos {
		data = append(data, fill(k, info))
	}
	path := filepath.Join(t.TempDir(), "m."+kind)
	if kind == "tsr" {
		path += string(os.PathSeparator)
	}
	w, err := format.Create(kind, path, p, &format.WriteOptions{
		NoSync: true, Time: time.Unix(1700000000, 0), AcceptLoss: format.AcceptableLosses(), Storage: format.Storage{Compression: compression},
	})
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	change(p)
	for k, info := range slices.Backward(infos) {
		if err := w.WriteTensor(info.Name, bytes.NewReader(data[k])); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return contents(t, path), nil
}

// TestPlansOfModels: the plan of a model is the caller's.
func TestPlansOfModels(t *testing.T) {
	for name, p := range sources() {
		kind, _, _ := strings.Cut(name, " ")
		m := source(t, kind, p)
		var texts [2]string
		for i := range texts {
			p, err := format.PlanOf(m)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, info := range p.Tensors {
				text, err := json.Marshal([]any{info.Name, info.DType, info.Shape, info.Quant})
				if err != nil {
					t.Fatal(name, err)
				}
				texts[i] += string(text)
			}
			spoil(p)
		}
		if diff := gocmp.Diff(texts[0], texts[1]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// contents returns the bytes of a file, or of all files of a directory.
func contents(t *testing.T, path string) []byte {
	t.Helper()
	paths := []string{path}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		paths = entries(t, path)
	}
	var all []byte
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

// TestKeysMayBeWiped: a key that was passed is a copy from then on.
func TestKeysMayBeWiped(t *testing.T) {
	p := func() *format.Plan { return &format.Plan{Tensors: []tensor.Info{list(tensor.Float32, "w", 64, 64)}} }
	for _, kind := range []string{"mle", "wia"} {
		path := filepath.Join(t.TempDir(), "m."+kind)
		key := bytes.Repeat([]byte{7}, 32)
		w, err := format.Create(kind, path, p(), &format.WriteOptions{NoSync: true, Storage: format.Storage{Key: key}})
		if err != nil {
			t.Fatal(err)
		}
		clear(key)
		if err := w.WriteTensor("w", bytes.NewReader(fill(0, p().Tensors[0]))); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		key = bytes.Repeat([]byte{7}, 32)
		m, err := format.Open(path, &format.Options{Key: key})
		if err != nil {
			t.Fatal(kind, err)
		}
		clear(key)
		b, err := m.At(0).Bytes()
		if !bytes.Equal(b, fill(0, p().Tensors[0])) || err != nil {
			t.Errorf("%s: other data, %v", kind, err)
		}
		if _, err := m.Verify(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		m.Close()
	}
}

// moody is a signer that panics.
type moody struct{ crypto.Signer }

func (moody) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { panic("the signer") }

// TestSignerPanics: there is no file that is not signed, and no second chance to make it.
func TestSignerPanics(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &format.Plan{Tensors: []tensor.Info{list(tensor.Float32, "w", 4)}}
	w, err := format.Create("wia", filepath.Join(dir, "m.wia"), p, &format.WriteOptions{NoSync: true, Storage: format.Storage{Signer: moody{key}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteTensor("w", bytes.NewReader(make([]byte, 16))); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if thrown := recover(); thrown != "the signer" {
				t.Errorf("recovered %v", thrown)
			}
		}()
		_ = w.Close()
	}()
	unwritten(t, dir)
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), format.ErrAborted.Error()) {
		t.Errorf("Close again: %v", err)
	}
}
