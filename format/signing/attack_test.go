package signing

import (
	"bytes"
	"context"
	"crypto/elliptic"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/remote"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// siblings is a reader of a file of a directory, with the other files.
type siblings struct {
	*bytes.Reader
	dir string
}

func (s siblings) Sibling(name string) (io.ReaderAt, int64, error) {
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	return bytes.NewReader(b), int64(len(b)), err
}

// serve serves a directory over HTTP.
func serve(t *testing.T, dir string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeFile(w, q, filepath.Join(dir, filepath.Base(q.URL.Path)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// firstOf opens a model and returns the first byte of w, of which it reads all.
func firstOf(m *format.Model, err error) (byte, error) {
	if err != nil {
		return 0, err
	}
	defer m.Close()
	v, err := m.Tensor("w")
	if err != nil {
		return 0, err
	}
	b := make([]byte, v.Size())
	if _, err := v.ReadInto(b); err != nil {
		return 0, err
	}
	_, err = m.Verify(context.Background())
	return b[0], err
}

// TestForgedExternalData is ../shared/cases/attack/trust.go.txt: external data that is forged, or that nobody signed, is refused
// through every door.
func TestForgedExternalData(t *testing.T) {
	key := newKey(t, elliptic.P256())
	for _, name := range []string{"onnx", "wia"} {
		for _, what := range []string{"dir", "file"} {
			base := t.TempDir()
			dir := filepath.Join(base, "model")
			expect.OK(t, os.Mkdir(dir, 0o777))
			w, err := tensor.Of("w", tensor.Shape{256}, bytes.Repeat([]byte{7}, 256))
			expect.OK(t, err)
			x, err := tensor.Of("x", tensor.Shape{256}, bytes.Repeat([]byte{9}, 256))
			expect.OK(t, err)
			file := "model." + name
			path := filepath.Join(dir, file)
			p := &format.Plan{Tensors: []tensor.Info{w.Info(), x.Info()}}
			writer, err := format.Create(name, path, p, &format.WriteOptions{NoSync: true, Storage: format.Storage{ExternalFrom: 1}})
			expect.OK(t, err)
			expect.OK(t, format.WriteView(writer, w))
			expect.OK(t, format.WriteView(writer, x))
			expect.OK(t, writer.Close())
			root := dir
			if what == "file" {
				root = path
			}
			bundle := filepath.Join(base, "bundle.sig")
			sign(t, root, bundle, key)
			data, err := filepath.Glob(filepath.Join(dir, "*.data"))
			expect.OK(t, err)
			for _, isForged := range []bool{false, true} {
				if isForged {
					b := expect.Read(t, data[0])
					for i := range b {
						b[i] ^= 0x55
					}
					expect.OK(t, os.WriteFile(data[0], b, 0o666))
				}
				policy := &Policy{Trust: trusting(key), Bundle: bundle}
				o := &format.Options{Trusted: policy}
				rooted := &format.Options{Trusted: &Policy{Trust: trusting(key), Bundle: bundle, Root: root}}
				inDir := &format.Options{Trusted: policy, Dir: dir}
				body := expect.Read(t, path)
				for door, open := range map[string]func() (*format.Model, error){
					"Open":             func() (*format.Model, error) { return format.Open(path, o) },
					"Open with Root":   func() (*format.Model, error) { return format.Open(path, rooted) },
					"OpenFS":           func() (*format.Model, error) { return format.OpenFS(os.DirFS(dir), file, o) },
					"OpenFS with Root": func() (*format.Model, error) { return format.OpenFS(os.DirFS(dir), file, rooted) },
					"OpenFS, deeper":   func() (*format.Model, error) { return format.OpenFS(os.DirFS(base), "model/"+file, o) },
					"OpenReaderAt": func() (*format.Model, error) {
						return format.OpenReaderAt(siblings{bytes.NewReader(body), dir}, int64(len(body)), o)
					},
					"OpenBytes with Dir": func() (*format.Model, error) { return format.OpenBytes(body, inDir) },
					"OpenReaderAt in Dir": func() (*format.Model, error) {
						return format.OpenReaderAt(bytes.NewReader(body), int64(len(body)), inDir)
					},
					"remote.Open": func() (*format.Model, error) {
						return remote.Open(context.Background(), serve(t, dir)+"/"+file, &remote.Options{Open: o})
					},
				} {
					first, err := firstOf(open())
					switch isGood := what == "dir" && !isForged; {
					case isGood && (err != nil || first != 7):
						t.Errorf("%s, %s signed, %s: %d, %v", name, what, door, first, err)
					case !isGood && (!errors.Is(err, format.ErrSignature) || !strings.Contains(err.Error(), ".data")):
						t.Errorf("%s, %s signed, forged %t, %s: %d, %v", name, what, isForged, door, first, err)
					}
				}
			}
		}
	}
}

// TestChangedAfterOpening is the end of ../shared/cases/attack/trust.go.txt: data that another process or the server changes
// after the model was opened is refused when it is used.
func TestChangedAfterOpening(t *testing.T) {
	const size = 4 << 20
	key := newKey(t, elliptic.P256())
	for _, shard := range []int64{0, 1 << 20} {
		path := filepath.Join(t.TempDir(), "m.safetensors")
		w, err := tensor.Of("w", tensor.Shape{size}, bytes.Repeat([]byte{7}, size))
		expect.OK(t, err)
		expect.OK(t, format.Save(path, "", w))
		b, err := Sign(context.Background(), path, Signer{Key: key}, &Options{Bundle: path + ".sig", ShardSize: shard})
		expect.OK(t, err)
		expect.OK(t, os.WriteFile(path+".sig", b.Bytes(), 0o666))
		body := expect.Read(t, path)
		forged := bytes.Clone(body)
		copy(forged[len(forged)-size:], bytes.Repeat([]byte{66}, size))
		var isForged atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("ETag", `"1"`)
			content := body
			if strings.HasSuffix(q.URL.Path, ".sig") {
				content = b.Bytes()
			} else if isForged.Load() {
				content = forged
			}
			http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(content))
		}))
		defer server.Close()
		o := &format.Options{Trusted: &Policy{Trust: trusting(key)}, Check: format.CheckTouch}
		for door, open := range map[string]func() (*format.Model, error){
			"remote": func() (*format.Model, error) {
				return remote.Open(context.Background(), server.URL+"/m.safetensors", &remote.Options{Open: o})
			},
			"path": func() (*format.Model, error) { return format.Open(path, o) },
		} {
			m, err := open()
			expect.OK(t, err)
			isForged.Store(true)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			expect.OK(t, err)
			_, err = f.WriteAt(forged, 0)
			expect.OK(t, err)
			v, err := m.Tensor("w")
			expect.OK(t, err)
			if _, err := v.ReadInto(make([]byte, size)); !errors.Is(err, format.ErrSignature) || !errors.Is(err, format.ErrChecksum) {
				t.Errorf("%s, ranges of %d: %v", door, shard, err)
			}
			if _, err := m.Verify(context.Background()); !errors.Is(err, format.ErrSignature) {
				t.Errorf("%s, ranges of %d: Verify: %v", door, shard, err)
			}
			isForged.Store(false)
			_, err = f.WriteAt(body, 0)
			expect.OK(t, err)
			expect.OK(t, f.Close())
			expect.OK(t, m.Close())
		}
	}
}

// TestNativeAfterRewrite is ../shared/cases/attack/native.go.txt: what Native reads again is what was signed, or refused.
func TestNativeAfterRewrite(t *testing.T) {
	key := newKey(t, elliptic.P256())
	field := func(number byte, text string) string { return string([]byte{number<<3 | 2, byte(len(text))}) + text }
	doc := "HONEST" + strings.Repeat("-", 60)
	model := "\x08\x08" + field(6, doc) + field(7, field(2, "g")+field(10, doc)) + field(8, "\x10\x11")
	path := filepath.Join(t.TempDir(), "m.onnx")
	expect.OK(t, os.WriteFile(path, []byte(model), 0o666))
	sign(t, path, path+".sig", key)
	m, err := format.Open(path, &format.Options{Trusted: &Policy{Trust: trusting(key)}})
	expect.OK(t, err)
	defer m.Close()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	expect.OK(t, err)
	_, err = f.WriteAt([]byte(strings.ReplaceAll(model, "HONEST", "FORGED")), 0)
	expect.OK(t, errors.Join(err, f.Close()))
	n, err := m.Native()
	if err != nil && !errors.Is(err, format.ErrSignature) {
		t.Error(err)
	}
	if err == nil && (bytes.Contains(n.Raw, []byte("FORGED")) || !bytes.Contains(n.Raw, []byte("HONEST"))) {
		t.Errorf("Native is forged: %q", n.Raw)
	}
	if _, err := m.Verify(context.Background()); !errors.Is(err, format.ErrSignature) {
		t.Error("Verify:", err)
	}
}
