package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/examples/internal/transcript"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

var (
	key    = []byte("0123456789abcdef0123456789ABCDEF")
	signer = ed25519.NewKeyFromSeed(key)
)

func schemaOf(elems int64) *schema.Schema {
	return &schema.Schema{
		Metadata: schema.Metadata{{Key: "model_name", Value: "test"}},
		Tensors: []tensor.Info{
			{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{elems}}, {Name: "b", DType: tensor.Float32, Shape: tensor.Shape{3}},
		},
		Graph: &schema.Graph{
			Inputs: []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 5)}},
			Nodes:  []schema.Node{{Op: "Linear", Inputs: []string{"x", "w", "b"}, Outputs: []string{"y"}}},
		},
	}
}

func file(t *testing.T, path string, p *schema.Schema, o format.WriteOptions) {
	t.Helper()
	o.NoSync = true
	w, err := format.Create(path, p, &o)
	expect.OK(t, err)
	for _, info := range p.Tensors {
		expect.OK(t, w.WriteTensor(info.Name, bytes.NewReader(data(info))))
	}
	expect.OK(t, w.Close())
}

// data returns 4-byte elements that are floats between -1 and 1.
func data(info tensor.Info) []byte {
	var b []byte
	for i := range info.Shape[0] {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(math.Sin(float64(i)))))
	}
	return b
}

// convert runs the command, which must succeed, and opens the output.
func convert(t *testing.T, o *format.Options, args ...string) *mle.File {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append(args, "--output", "out.mle")
	if status := run(t.Context(), args, &stdout, &stderr); status != 0 || stderr.Len() > 0 || !strings.HasPrefix(stdout.String(), "out.mle: version ") {
		t.Fatalf("%v: status %d, %q, %q", args, status, stdout.String(), stderr.String())
	}
	f, err := mle.Open("out.mle", o)
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestConvert(t *testing.T) {
	t.Chdir(t.TempDir())
	private, err := keys.EncodePrivate(signer)
	expect.OK(t, err)
	os.WriteFile("key.pem", private, 0o600)
	os.WriteFile("key.bin", key, 0o600)
	os.WriteFile("key.hex", []byte(hex.EncodeToString(key)+"\n"), 0o600)
	file(t, "v1.mle", schemaOf(5000), format.WriteOptions{Format: mle.Format{Version: 1}})
	file(t, "locked.mle", schemaOf(5000), format.WriteOptions{Key: key, Format: mle.Format{}})

	for _, c := range []struct {
		args  string
		flags mle.Features
		lossy bool
	}{
		{"--input v1.mle", mle.MemoryMapping, false},
		{"--input v1.mle --compress zstd", mle.Compression, false},
		{"--input v1.mle --compress lz4 --level 9 --chunked", mle.Compression | mle.ChunkedWeights, false},
		{"--input v1.mle --compress brotli --level 1 --sign key.pem", mle.Compression | mle.Signing, false},
		{"--input v1.mle --quantize int8", mle.Compression | mle.Quantized, true},
		{"--input v1.mle --quantize fp16 --chunked --encrypt key.bin --sign key.pem", mle.Compression | mle.Quantized | mle.ChunkedWeights | mle.Encryption | mle.Signing, true},
		{"--input v1.mle --encrypt key.hex", mle.Compression | mle.Encryption, false},
		{"--input v1.mle --version 1", 0, false},
		{"--input locked.mle --key " + hex.EncodeToString(key), mle.MemoryMapping, false},
	} {
		t.Run(c.args, func(t *testing.T) {
			src := "v1.mle"
			args := strings.Fields(c.args)
			f := convert(t, &format.Options{Key: key}, args...)
			if got := f.Header().Features; got != c.flags {
				t.Errorf("features %v, want %v", got, c.flags)
			}
			if _, err := f.Verify(context.Background(), nil); err != nil {
				t.Error(err)
			}
			checkSame(t, src, f, c.lossy)
			if c.flags.Has(mle.Signing) {
				if _, err := f.Verify(context.Background(), &format.VerifyOptions{Trusted: format.TrustKey(signer.Public())}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// checkSame compares graph, metadata and data with the file at path.
func checkSame(t *testing.T, path string, got *mle.File, lossy bool) {
	t.Helper()
	want, err := mle.Open(path, nil)
	expect.OK(t, err)
	defer want.Close()
	expect.Equal(t, want.IR(), got.IR(), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(mle.Descriptor{}, "Offset"))
	metadata := slices.DeleteFunc(expect.Got(t, got.Metadata), func(e schema.Entry) bool { return e.Key == "tensor_names" })
	expect.Equal(t, expect.Got(t, want.Metadata)[:len(metadata)], metadata)
	for name, v := range want.Tensors() {
		w, err := got.Tensor(name)
		x, errX := tensor.Decode[float32](nil, v)
		y, errY := tensor.Decode[float32](nil, w)
		tolerance := 0.0
		if lossy {
			tolerance = 0.01
		}
		if diff := cmp.Diff(x, y, cmpopts.EquateApprox(0, tolerance)); err != nil || errX != nil || errY != nil || diff != "" {
			t.Errorf("tensor %s: %v %v %v", name, err, errX, errY)
		}
	}
}

// TestUnprotected checks the message about protection that the output lacks.
func TestUnprotected(t *testing.T) {
	t.Chdir(t.TempDir())
	file(t, "both.mle", schemaOf(5), format.WriteOptions{Key: key, Signer: signer, Format: mle.Format{}})
	secret := hex.EncodeToString(key)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "), not encrypted any more, not signed any more\n"}, {[]string{"--encrypt", secret}, "), not signed any more\n"},
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"--input", "both.mle", "--output", "o.mle", "--key", secret}, tt.args...)
		if status := run(t.Context(), args, &stdout, &stderr); status != 0 || !strings.HasSuffix(stdout.String(), tt.want) {
			t.Errorf("%q: status %d, %q, %q", args, status, stdout.String(), stderr.String())
		}
	}
}

// TestMigrateFieldFiles converts old files from the field to version 2.
func TestMigrateFieldFiles(t *testing.T) {
	dir, err := filepath.Abs("../../../shared/interop/mle")
	expect.OK(t, err)
	t.Chdir(t.TempDir())
	for _, name := range []string{"example_model", "iris_model", "iris_mlp_model", "v1_sdk_gnb", "v1_sdk_knn", "v1_sdk_kmeans"} {
		path := filepath.Join(dir, name+".mle")
		if _, err := os.Stat(path); err != nil {
			t.Skip("the files from the field are not here")
		}
		f := convert(t, nil, "--input", path, "--compress", "zstd", "--chunked")
		if f.Version() != "2" {
			t.Errorf("version %s", f.Version())
		}
		checkSame(t, path, f, false)
	}
}

// TestRefusals runs the commands in testdata/refusals.txt and compares all that they print. None writes
// a file.
func TestRefusals(t *testing.T) {
	want, got := transcript.Of(t, "testdata/refusals.txt", "mle-convert", func() { putRefused(t) }, run)
	expect.Equal(t, want, got)
	for _, absent := range []string{"--input absent.mle --output o.mle", "--input good.mle --output o.mle --sign absent.pem"} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), strings.Fields(absent), &out, &errs); status == 0 || !strings.Contains(errs.String(), "absent") || out.Len() > 0 {
			t.Errorf("%s: status %d, %q, %q", absent, status, &out, &errs)
		}
	}
	if _, err := os.Stat("o.mle"); err == nil {
		t.Error("there is an output")
	}
}

// putRefused writes models into the current directory.
func putRefused(t *testing.T) {
	t.Helper()
	file(t, "good.mle", schemaOf(5), format.WriteOptions{Format: mle.Format{}})
	file(t, "locked.mle", schemaOf(5), format.WriteOptions{Key: key, Format: mle.Format{}})
	file(t, "ints.mle", &schema.Schema{Tensors: []tensor.Info{{Name: "i", DType: tensor.Int32, Shape: tensor.Shape{4}}}}, format.WriteOptions{Format: mle.Format{}})
	newer := schemaOf(5)
	newer.Graph.Nodes[0].Op = "Conv1D"
	file(t, "conv1d.mle", newer, format.WriteOptions{Format: mle.Format{}})
	b, _ := os.ReadFile("good.mle")
	b[len(b)-1] ^= 1
	os.WriteFile("bad.mle", b, 0o644)
	os.WriteFile("empty.key", nil, 0o600)
}
