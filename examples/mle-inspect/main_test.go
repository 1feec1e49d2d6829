package main

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/examples/internal/transcript"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

var key = []byte("0123456789abcdef0123456789ABCDEF")

// file writes a model of 4,096 zeros.
func file(t *testing.T, path string, o format.WriteOptions) {
	t.Helper()
	p := &schema.Schema{Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{1024}}}}
	w, err := format.Create(path, p, &o)
	expect.OK(t, err)
	expect.OK(t, w.WriteTensor("w", bytes.NewReader(make([]byte, 4096))))
	expect.OK(t, w.Close())
}

// pem writes the public key of a signer.
func pem(t *testing.T, path string, key crypto.Signer) {
	t.Helper()
	text, err := keys.EncodePublic(key.Public())
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(path, text, 0o644))
}

// TestInspect runs the commands in testdata/commands.txt and compares all that they print.
func TestInspect(t *testing.T) {
	testhost.NeedMaps(t)
	want, got := transcript.Of(t, "testdata/commands.txt", "mle-inspect", func() { putFiles(t) }, run)
	expect.Equal(t, want, got)
}

// putFiles writes models and keys into the current directory.
func putFiles(t *testing.T) {
	t.Helper()
	signer := ed25519.NewKeyFromSeed(key)
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	pem(t, "pub.pem", signer)
	pem(t, "other.pem", other)
	file(t, "model.mle", format.WriteOptions{Signer: signer, Format: mle.Format{Lossy: mle.MethodFloat16}})
	file(t, "old.mle", format.WriteOptions{Format: mle.Format{Version: 1}})
	file(t, "plain.mle", format.WriteOptions{Format: mle.Format{}})
	file(t, "locked.mle", format.WriteOptions{Key: key, Format: mle.Format{}})
	b, _ := os.ReadFile("model.mle")
	b[len(b)-200] ^= 1
	os.WriteFile("changed.mle", b, 0o644)
	b, _ = os.ReadFile("model.mle")
	b[len(b)-140+44] ^= 1 // of the signature: cases/seeds/badsig.mle
	os.WriteFile("badsig.mle", b, 0o644)
	os.WriteFile("no.mle", []byte("nothing of the kind"), 0o644)
}

func TestInterop(t *testing.T) {
	for name, want := range map[string]string{
		"v2_comp_zstd":  "Version: 2.0\nFeatures: COMPRESSION\nCompression: ZSTD (level 6, ratio: 46.3x)\nSignature: None\nIntegrity: OK\n",
		"v2_signed":     "Version: 2.0\nFeatures: SIGNING\nCompression: NONE\nSignature: Valid (ED25519)\nIntegrity: OK\n",
		"example_model": "Version: 1.0\nFeatures: NONE\nCompression: NONE\nSignature: None\nIntegrity: OK\n",
	} {
		path := filepath.Join("../../../shared/interop/mle", name+".mle")
		if _, err := os.Stat(path); err != nil {
			t.Skip("the files from the field are not here")
		}
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), []string{path}, &stdout, &stderr); status != 0 {
			t.Errorf("%s: status %d: %s", name, status, stderr.String())
		}
		expect.Equal(t, want, stdout.String())
	}
}
