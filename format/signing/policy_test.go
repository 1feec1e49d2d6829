package signing

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// sign signs the model at root and writes the bundle.
func sign(t testing.TB, root, bundle string, key *ecdsa.PrivateKey) {
	t.Helper()
	b, err := Sign(context.Background(), root, Signer{Key: key}, &Options{Bundle: bundle})
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(bundle, b.Bytes(), 0o666))
}

// write writes a model of two tensors, and returns the path that opens it.
func write(t testing.TB, name, path string, o *format.WriteOptions) (opens string) {
	t.Helper()
	p := &schema.Schema{}
	for _, n := range []string{"a", "b"} {
		p.Tensors = append(p.Tensors, tensor.Info{Name: n, DType: tensor.Float32, Shape: tensor.Shape{1000}})
	}
	w, err := format.Create(path, p, o.With(expect.Must(format.ByName(name))))
	expect.OK(t, err)
	defer w.Abort()
	for i, info := range p.Tensors {
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(bytes.Repeat([]byte{byte(i + 1)}, 4000))))
	}
	expect.OK(t, w.Close())
	return w.Files()[0]
}

// open opens a model, and closes it.
func open(path string, trusted format.Trust) error {
	m, err := format.Open(path, &format.Options{Trusted: trusted})
	if err != nil {
		return err
	}
	if m.Len() == 0 {
		err = errors.New("it has no tensors")
	}
	return errors.Join(err, m.Close())
}

// flip changes a bit of a file in place: of the byte at off, from the end where that is negative.
func flip(t testing.TB, path string, off int64, bit byte) {
	t.Helper()
	b := expect.Read(t, path)
	if off < 0 {
		off += int64(len(b))
	}
	b[off] ^= bit
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	expect.OK(t, err)
	_, err = f.WriteAt(b, 0)
	expect.OK(t, errors.Join(err, f.Close()))
}

// TestPolicy checks for each format that a signed model opens, and that an unsigned or changed
// model, or one signed by another key, does not.
func TestPolicy(t *testing.T) {
	key, other := newKey(t, elliptic.P256()), newKey(t, elliptic.P256())
	for _, name := range format.Names() {
		f := expect.Must(format.ByName(name))
		dir := t.TempDir()
		path := filepath.Join(dir, "m"+f.Driver().Describe().Extensions[0])
		info := tensor.Info{Name: "m", DType: tensor.Float32, Shape: tensor.Shape{1000}}
		if name == "mobi" {
			info.Name = "1"
		}
		w, err := format.Create(path, &schema.Schema{Tensors: []tensor.Info{info}}, &format.WriteOptions{Format: f})
		if err != nil {
			t.Log(err)
			continue
		}
		expect.OK(t, errors.Join(w.WriteTensor(info.Name, bytes.NewReader(bytes.Repeat([]byte{1}, 4000))), w.Close()))
		t.Run(name, func(t *testing.T) {
			policy := &Policy{Trust: trusting(key)}
			if err := open(path, policy); !errors.Is(err, format.ErrSignature) || !errors.Is(err, fs.ErrNotExist) {
				t.Error("unsigned:", err)
			}
			bundle := path + ".sig"
			sign(t, path, bundle, key)
			expect.OK(t, open(path, policy))
			for _, none := range []format.Trust{&Policy{}, (*Policy)(nil), &Policy{Trust: trusting(other)}} {
				if err := open(path, none); !errors.Is(err, format.ErrSignature) {
					t.Errorf("%#v: %v", none, err)
				}
			}
			text := expect.Read(t, path)
			policy.Bundle = bundle
			for how, m := range map[string]func(b []byte) (*format.Model, error){
				"bytes": func(b []byte) (*format.Model, error) {
					return format.OpenBytes(b, &format.Options{Trusted: policy, Format: expect.Must(format.ByName(name))})
				},
				"reader": func(b []byte) (*format.Model, error) {
					return format.OpenReaderAt(bytes.NewReader(b), int64(len(b)), &format.Options{Trusted: policy, Format: expect.Must(format.ByName(name))})
				},
			} {
				x, err := m(text)
				expect.OK(t, err)
				expect.OK(t, x.Close())
				if x, err := m(append(bytes.Clone(text), 0)); err == nil {
					t.Error(how, "with a byte behind it was opened")
					x.Close()
				}
			}
			flip(t, path, -1, 1)
			if err := open(path, policy); err == nil {
				t.Errorf("changed: it was opened")
			} else if errors.Is(err, format.ErrSignature) && !errors.Is(err, format.ErrChecksum) {
				t.Errorf("changed: %v", err)
			}
			flip(t, path, -1, 1)
			expect.OK(t, os.Rename(bundle, filepath.Join(dir, "model.sig")))
			expect.OK(t, open(path, &Policy{Trust: trusting(key)}))
			sign(t, dir, filepath.Join(dir, "model.sig"), key)
			expect.OK(t, open(path, &Policy{Trust: trusting(key)}))
			expect.OK(t, os.WriteFile(filepath.Join(dir, "extra"), nil, 0o666))
			expect.OK(t, open(path, &Policy{Trust: trusting(key)})) // which only Verify refuses
		})
	}
}

// severals are models of several files: the format, the name, and the options for writing.
var severals = map[string]struct {
	format, name string
	o            format.WriteOptions
}{
	"safetensors shards":      {"safetensors", "m.safetensors", format.WriteOptions{MaxShard: 4000}},
	"TSR directory":           {"tsr", "model", format.WriteOptions{}},
	"ONNX with external data": {"onnx", "m.onnx", format.WriteOptions{ExternalFrom: 1}},
}

// several writes a model and signs its directory. It returns the path to open, the files, and a policy.
func several(t testing.TB, name string, key *ecdsa.PrivateKey) (path string, files []string, policy *Policy) {
	t.Helper()
	dir := t.TempDir()
	s := severals[name]
	path = write(t, s.format, filepath.Join(dir, s.name), &s.o)
	expect.OK(t, filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, file)
		}
		return err
	}))
	policy = &Policy{Trust: trusting(key), Bundle: filepath.Join(dir, "model.sig"), Root: dir}
	sign(t, dir, policy.Bundle, key)
	return path, files, policy
}

// TestSignatureOfOneFile: a signature of the file that opens a model does not cover its external data.
func TestSignatureOfOneFile(t *testing.T) {
	key := newKey(t, elliptic.P256())
	for _, name := range []string{"onnx", "wia"} {
		path := filepath.Join(t.TempDir(), "m."+name)
		write(t, name, path, &format.WriteOptions{ExternalFrom: 1})
		sign(t, path, path+".sig", key)
		err := open(path, &Policy{Trust: trusting(key)})
		if !errors.Is(err, format.ErrSignature) || !strings.Contains(err.Error(), ".data") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParsedIsHashed changes each file of a model after it was hashed, and before it is parsed. The model has what was signed, or
// opening fails with ErrSignature.
func TestParsedIsHashed(t *testing.T) {
	key := newKey(t, elliptic.P256())
	for name := range severals {
		t.Run(name, func(t *testing.T) {
			path, files, policy := several(t, name, key)
			want := textOf(t, path, nil)
			found := 0
			for _, full := range files {
				text := expect.Read(t, full)
				for i := range 2 * int64(min(len(text), 100)) {
					off, bit := i/2, byte(1+i%2)
					isHashed, isChanged := false, false
					change := func(done, total int64, part string) {
						isHashed = isHashed || part == full
						if isHashed && done == total && !isChanged { // opening starts over if that changes the index
							flip(t, full, off, bit)
							isChanged = true
						}
					}
					o := &format.Options{Trusted: policy, Workers: 1, Progress: change}
					m, err := format.Open(path, o)
					if !isChanged {
						t.Fatalf("%s was not hashed: %v", full, err)
					}
					if err == nil {
						if got := textOf(t, "", m); got != want {
							t.Errorf("%s, byte %d changed: %s", full, off, got)
						}
						m.Close()
					} else if found++; !errors.Is(err, format.ErrSignature) {
						t.Errorf("%s, byte %d changed: %v", full, off, err)
					}
					flip(t, full, off, bit)
				}
			}
			t.Logf("%d changes were found, others were of bytes in private memory", found)
			expect.OK(t, open(path, policy))
		})
	}
}

// textOf prints the structure of a model, which is opened unless it is given.
func textOf(t *testing.T, path string, m *format.Model) string {
	t.Helper()
	if m == nil {
		var err error
		m, err = format.Open(path, nil)
		expect.OK(t, err)
		defer m.Close()
	}
	meta, err := m.Metadata()
	expect.OK(t, err)
	text := fmt.Sprintln(meta, m.Notes())
	for name, v := range m.Tensors() {
		info := v.Info()
		info.Encoding, info.Quant = nil, nil
		text += fmt.Sprintf("%s %+v\n", name, info)
	}
	return text
}

// TestUnsignedModel checks that a model the signature does not list is refused, even with
// AllowUnsigned.
func TestUnsignedModel(t *testing.T) {
	key, dir := newKey(t, elliptic.P256()), t.TempDir()
	bundle := filepath.Join(dir, "model.sig")
	write(t, "mag", filepath.Join(dir, "a.mag"), nil)
	sign(t, dir, bundle, key)
	write(t, "mag", filepath.Join(dir, "b.mag"), nil)
	policy := &Policy{Trust: trusting(key), Bundle: bundle, Root: dir, Options: &Options{AllowUnsigned: true}}
	for name, want := range map[string]error{"a.mag": nil, "b.mag": format.ErrSignature} {
		if err := open(filepath.Join(dir, name), policy); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}
