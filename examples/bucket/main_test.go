package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/remote"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"
)

// model returns a file with two tensors of n bytes, filled with first and first+1.
func model(t *testing.T, name string, n int, first byte) []byte {
	t.Helper()
	s := &schema.Schema{}
	for i := range 2 {
		s.Tensors = append(s.Tensors, tensor.Info{Name: fmt.Sprint(i + 1), DType: tensor.Float32, Shape: tensor.Shape{int64(n) / 4}})
	}
	var out bytes.Buffer
	w, err := format.NewWriter(&out, s, &format.WriteOptions{Format: expect.Must(format.ByName(name))})
	expect.OK(t, err)
	for i, info := range s.Tensors {
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(data(n, first+byte(i)))))
	}
	expect.OK(t, w.Close())
	return out.Bytes()
}

func data(n int, first byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i*i>>4)
	}
	return b
}

// buckets returns a bucket in memory and one in a directory.
func buckets(t *testing.T) map[string]*blob.Bucket {
	dir, err := fileblob.OpenBucket(t.TempDir(), nil)
	expect.OK(t, err)
	all := map[string]*blob.Bucket{"memory": memblob.OpenBucket(nil), "directory": dir}
	t.Cleanup(func() {
		for _, b := range all {
			b.Close()
		}
	})
	return all
}

func put(t *testing.T, b *blob.Bucket, key string, content []byte) {
	t.Helper()
	expect.OK(t, b.WriteAll(context.Background(), key, content, nil))
}

// replace is put until the object has another time: the clock of file systems is coarse.
func replace(t *testing.T, b *blob.Bucket, key string, content []byte) {
	t.Helper()
	before, err := b.Attributes(context.Background(), key)
	expect.OK(t, err)
	for {
		put(t, b, key, content)
		after, err := b.Attributes(context.Background(), key)
		expect.OK(t, err)
		if !after.ModTime.Equal(before.ModTime) {
			return
		}
	}
}

// TestBuckets opens every format in every bucket.
func TestBuckets(t *testing.T) {
	for where, b := range buckets(t) {
		for _, name := range []string{"mag", "mle", "mobi", "wia", "safetensors", "gguf", "npz", "onnx"} {
			t.Run(where+" "+name, func(t *testing.T) {
				const n = 100_000
				put(t, b, "m", model(t, name, n, 7))
				m, r, err := open(t.Context(), b, "m", &remote.Options{Window: 4096, Part: 30_000})
				expect.OK(t, err)
				defer m.Close()
				opened := r.Stats()
				if opened.Requests > 4 || opened.Bytes > 70_000 {
					t.Errorf("opening takes %+v", opened)
				}
				v, err := m.Tensor("2")
				expect.OK(t, err)
				got, err := v.Bytes()
				if err != nil || !bytes.Equal(got, data(n, 8)) {
					t.Error("other bytes: ", err)
				}
				if _, err := m.Verify(t.Context(), nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestChanged checks that an object replaced after opening or during a read is an error, and that
// no byte of the new object is returned.
func TestChanged(t *testing.T) {
	const n = 100_000
	one := model(t, "mag", n, 1)
	for where, b := range buckets(t) {
		for what, two := range map[string][]byte{"the same size": model(t, "mag", n, 2), "another size": model(t, "mag", 2*n, 2)} {
			for _, during := range []bool{false, true} {
				t.Run(fmt.Sprint(where, ", ", what, ", while reading: ", during), func(t *testing.T) {
					put(t, b, "m", one)
					o := &changing{object: object{b, "m"}}
					r, err := remote.NewObjectReaderAt(t.Context(), o, &remote.Options{Window: 4096})
					expect.OK(t, err)
					m, err := format.OpenReaderAt(r, r.Size(), nil)
					expect.OK(t, err)
					defer m.Close()
					if during {
						o.meanwhile = func() { replace(t, b, "m", two) }
					} else {
						replace(t, b, "m", two)
					}
					v, err := m.Tensor("2")
					expect.OK(t, err)
					if _, err := v.Bytes(); !errors.Is(err, remote.ErrChanged) || !errors.Is(err, format.ErrCorrupt) {
						t.Errorf("Bytes: %v, want ErrChanged", err)
					}
				})
			}
		}
	}
}

// changing replaces the object when a range of it has been opened.
type changing struct {
	object
	meanwhile func()
}

func (c *changing) Get(ctx context.Context, off, n int64, known remote.Version) (remote.Answer, error) {
	a, err := c.object.Get(ctx, off, n, known)
	if c.meanwhile != nil {
		c.meanwhile()
		c.meanwhile = nil
	}
	return a, err
}

// TestFailures checks that only errors that a retry may fix are retried.
func TestFailures(t *testing.T) {
	for where, b := range buckets(t) {
		_, r, err := open(t.Context(), b, "missing", nil)
		if gcerrors.Code(err) != gcerrors.NotFound || r != nil || !strings.Contains(err.Error(), `"missing"`) {
			t.Errorf("%s: an object that is not there: %v", where, err)
		}
		put(t, b, "m", model(t, "mag", 100_000, 1))
		m, r, err := open(t.Context(), b, "m", &remote.Options{Window: 4096, Backoff: time.Microsecond, Retries: 2})
		expect.OK(t, err)
		defer m.Close()
		before := r.Stats()
		b.Close()
		if _, err := m.At(1).Bytes(); err == nil || r.Stats().Requests != before.Requests+1 {
			t.Errorf("%s: a closed bucket: %v, %+v", where, err, r.Stats())
		}
	}
	var again *remote.Temporary
	if !errors.As(classified(errors.New("the network is down")), &again) {
		t.Error("an error that may pass is final")
	}
}

// TestRun runs the program on a bucket in a directory.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	content := model(t, "mag", 400_000, 1)
	expect.OK(t, os.WriteFile(filepath.Join(dir, "m.mag"), content, 0o666))
	expect.OK(t, os.WriteFile(filepath.Join(dir, "bad"), []byte("nothing"), 0o666))
	url := "file://" + filepath.ToSlash(dir)
	const head = "m.mag: mag 1, 2 tensors, 800 kB\n"
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		stdout string
		stderr string // a substring of stderr
	}{
		{"list", []string{"-open", url, "m.mag"}, 0, head + "  1  float32  [100000]  400 kB\n  2  float32  [100000]  400 kB\n1 range, 262 kB fetched of 800 kB\n", ""},
		{"tensor", []string{"-open", url, "-tensor", "2", "m.mag"}, 0, fmt.Sprintf("%s2: xxh64 %016x\n2 ranges, 662 kB fetched of 800 kB\n", head, xxhash.Sum64(data(400_000, 2))), ""},
		{"verify", []string{"-open", url, "-verify", "m.mag"}, 0, head + "verified\n2 ranges, 800 kB fetched of 800 kB\n", ""},
		{"no such tensor", []string{"-open", url, "-tensor", "3", "m.mag"}, 1, head, "not found"},
		{"no such object", []string{"-open", url, "m"}, 1, "", "code=NotFound"},
		{"no model", []string{"-open", url, "bad", "m.mag"}, 1, head + "  1  float32  [100000]  400 kB\n  2  float32  [100000]  400 kB\n1 range, 262 kB fetched of 800 kB\n", "bucket: bad: at 0x0: magic: unknown format"},
		{"no bucket", []string{"m.mag"}, 2, "", "usage: bucket"},
		{"no URL", []string{"-open", "s3://b\n?sig=SECRET", "m"}, 2, "", "-open takes a URL"},
		{"no driver", []string{"-open", "s3://user:SECRET@b?sig=SECRET", "m"}, 1, "", "no driver registered for \"s3\""},
		{"a query that there is not", []string{"-open", url + "?sig=SECRET%20two", "m"}, 1, "", "invalid query parameter \"sig\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := run(t.Context(), tt.args, &stdout, &stderr)
			if diff := cmp.Diff(tt.stdout, stdout.String()); diff != "" || status != tt.status || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("status %d, %s (-want +got)\n%s", status, &stderr, diff)
			}
			if strings.Contains(stderr.String(), "SECRET") {
				t.Errorf("a secret is printed: %s", &stderr)
			}
		})
	}
}
