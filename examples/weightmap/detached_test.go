package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// signedModel is a directory with a model in it that has been signed, and the key that trusts it.
func signedModel(t *testing.T) (dir, sig, private, public string) {
	t.Helper()
	private, public = pair(t, "ecdsa")
	dir = filepath.Join(t.TempDir(), "model")
	for name, text := range map[string]string{"weights.bin": "abc", "sub/config.json": "{}", "cache/x": "1"} {
		writeText(t, filepath.Join(dir, name), text)
	}
	sig = filepath.Join(dir, "model.sig")
	out, _ := tool(t, 0, "sign", "-with", private, "-signature", sig, "-ignore", "cache", dir)
	contains(t, out, sig+": "+dir+" signed by SHA256:")
	return dir, sig, private, public
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	expect.OK(t, os.WriteFile(path, []byte(text), 0o666))
}

// TestDetached: what sign -signature writes, verify -signature trusts, until anything changes.
func TestDetached(t *testing.T) {
	dir, sig, private, public := signedModel(t)
	verify := func(status int, more ...string) string {
		t.Helper()
		out, errs := tool(t, status, append([]string{"verify", "-signature", sig, "-trust", public}, more...)...)
		if want := map[int]string{0: "trusted\n"}[status]; out != want {
			t.Errorf("%q, want %q", out, want)
		}
		if strings.Count(errs, "\n") > 1 {
			t.Errorf("%q", errs)
		}
		return errs
	}
	verify(0, dir)
	weights, config, extra := filepath.Join(dir, "weights.bin"), filepath.Join(dir, "sub", "config.json"), filepath.Join(dir, "extra")
	writeText(t, weights, "abd")
	contains(t, verify(1, dir), weights+": ", "not the file that was signed")
	writeText(t, weights, "abc")
	writeText(t, extra, "")
	contains(t, verify(1, dir), extra+": ", "does not list it")
	verify(0, "-ignore", "extra", dir)
	verify(0, "-ignore", extra, dir)
	t.Chdir(filepath.Dir(dir))
	verify(0, "-ignore", filepath.Join("model", "extra"), "model")
	expect.OK(t, os.Rename(extra, config))
	contains(t, verify(1, dir), config+": ", "not the file that was signed")
	expect.OK(t, os.Remove(config))
	contains(t, verify(1, dir), config+": ", "signed and missing")
	writeText(t, config, "{}")
	verify(0, dir)

	_, other := pair(t, "ecdsa")
	_, errs := tool(t, 1, "verify", "-signature", sig, "-trust", other, dir)
	contains(t, errs, sig+": ", "another key")
	out, _ := tool(t, 0, "verify", "-v", "-signature", sig, "-trust", public, dir)
	contains(t, out, "trusted\n", "  sub/config.json\n", "  weights.bin\n")

	// One file, and a signature that is replaced.
	one := weights + ".sig"
	tool(t, 0, "sign", "-with", private, "-signature", one, weights)
	tool(t, 0, "sign", "-with", private, "-signature", one, weights)
	prints(t, "trusted\n", "verify", "-signature", one, "-trust", public, weights)
	_, errs = tool(t, 1, "verify", "-signature", one, "-trust", public, config)
	contains(t, errs, config+": ", "does not list it")
}

// TestInspectSignature: inspect says who claims to have signed a model, in a file next to it.
func TestInspectSignature(t *testing.T) {
	private, _ := pair(t, "ecdsa")
	dir := t.TempDir()
	path := filepath.Join(dir, "digits.wia")
	b := expect.Read(t, "../digits/testdata/digits.wia")
	writeText(t, path, string(b))
	out, _ := tool(t, 0, "inspect", path)
	if strings.Contains(out, ".sig") {
		t.Error(out)
	}
	tool(t, 0, "sign", "-with", private, "-signature", filepath.Join(dir, "model.sig"), dir)
	out, _ = tool(t, 0, "inspect", path)
	contains(t, out, "model.sig: signed with the key of hint ")
	tool(t, 0, "sign", "-with", private, "-signature", path+".sig", path)
	out, _ = tool(t, 0, "inspect", "-json", path)
	contains(t, out, "digits.wia.sig: signed with the key of hint ")
	writeText(t, path+".sig", "{}")
	out, _ = tool(t, 0, "inspect", path)
	contains(t, out, "no usable signature: ")
}
