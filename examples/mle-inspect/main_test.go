package main

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

var key = []byte("0123456789abcdef0123456789ABCDEF")

// file writes a model of 4,096 zeros.
func file(t *testing.T, path string, o mle.WriteOptions) {
	t.Helper()
	p := &format.Plan{Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{1024}}}}
	w, err := mle.Create(path, p, &o)
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

func TestInspect(t *testing.T) {
	testhost.NeedMaps(t)
	t.Chdir(t.TempDir())
	signer := ed25519.NewKeyFromSeed(key)
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))
	pem(t, "pub.pem", signer)
	pem(t, "other.pem", other)
	file(t, "model.mle", mle.WriteOptions{Compression: mle.MethodFloat16, Signer: signer})
	file(t, "old.mle", mle.WriteOptions{Version: 1})
	file(t, "plain.mle", mle.WriteOptions{})
	file(t, "locked.mle", mle.WriteOptions{Key: key})
	b, _ := os.ReadFile("model.mle")
	b[len(b)-200] ^= 1
	os.WriteFile("changed.mle", b, 0o644)
	os.WriteFile("no.mle", []byte("nothing of the kind"), 0o644)

	const model = "Version: 2.0\nFeatures: COMPRESSION | SIGNING | QUANTIZATION\nCompression: FP16 (level 6, ratio: 2.0x)\nSignature: Valid (ED25519)\nIntegrity: OK\n"
	const plain = "Version: 2.0\nFeatures: MEMORY_MAPPING\nCompression: NONE\nSignature: None\nIntegrity: OK\n"
	const old = "Version: 1.0\nFeatures: NONE\nCompression: NONE\nSignature: None\nIntegrity: OK\n"
	const help = "usage: mle-inspect [--trust PUB.pem] [--key HEX] FILE...\n\nShow what MLE files are and whether they are whole.\n\n" +
		"Without --trust a signature is \"Valid\" when the file is what was signed, whoever signed it.\n" +
		"With --trust a file that is not signed by that key fails.\n\noptions:\n" +
		"  --key HEX          key of an encrypted file, HEX of 64 digits, or @FILE that holds them\n  --max-memory SIZE  refuse a file that takes more memory than SIZE, such as 500MB or 2GiB\n" +
		"  --trust PUB.pem    public key that must have signed the files, in a PUB.pem\n" +
		"  --help             print this text\n\nexample:\n  mle-inspect --trust pub.pem model.mle\n"
	for _, c := range []struct {
		name   string
		args   []string
		status int
		stdout string
		stderr string // a substring of stderr
	}{
		{"as the specification shows", []string{"model.mle"}, 0, model, "not checked against a trusted key"},
		{"trusted", []string{"--trust", "pub.pem", "model.mle"}, 0, model, ""},
		{"another trusted", []string{"--trust", "other.pem", "model.mle"}, 1, strings.Replace(model, "Valid", "Untrusted", 1), "untrusted key"},
		{"unsigned", []string{"--trust", "pub.pem", "plain.mle"}, 1, plain, "unsigned"},
		{"several", []string{"old.mle", "plain.mle"}, 0, old + "\n" + plain, "old.mle: ok, but nothing covers the header, the metadata, the graph or the data of 1 tensor\n"},
		{"changed", []string{"changed.mle"}, 1, strings.Replace(strings.Replace(model, "Valid", "Invalid", 1), "OK", "FAILED (weights)", 1), "checksum mismatch"},
		{"locked", []string{"locked.mle"}, 1, "Version: 2.0\nFeatures: COMPRESSION | ENCRYPTION\nCompression: NONE\nSignature: None\nIntegrity: UNKNOWN (encrypted weights)\n", "missing key"},
		{"unlocked", []string{"--key", hex.EncodeToString(key), "locked.mle"}, 0, "Version: 2.0\nFeatures: COMPRESSION | ENCRYPTION\nCompression: NONE\nSignature: None\nIntegrity: OK\n", ""},
		{"no model", []string{"no.mle"}, 1, "", "plain text"},
		{"no arguments", nil, 2, "", "usage"},
		{"help", []string{"--help"}, 0, help, ""},
		{"bad key file", []string{"--trust", "no.mle", "plain.mle"}, 2, "", "no.mle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), c.args, &stdout, &stderr); status != c.status {
				t.Errorf("status %d, want %d (%s)", status, c.status, stderr.String())
			}
			expect.Equal(t, c.stdout, stdout.String())
			if !strings.Contains(stderr.String(), c.stderr) || (c.stderr == "") != (stderr.Len() == 0) {
				t.Errorf("stderr %q, want %q", stderr.String(), c.stderr)
			}
		})
	}
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
