package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// pair makes keys with keygen.
func pair(t *testing.T, kind string) (private, public string) {
	t.Helper()
	dir := t.TempDir()
	private, public = filepath.Join(dir, "key.pem"), filepath.Join(dir, "pub.pem")
	tool(t, 0, "keygen", "-type", kind, private, public)
	return private, public
}

// TestKeygen: the keys belong together, the private one to its owner alone.
func TestKeygen(t *testing.T) {
	for kind, is := range map[string]func(any) bool{
		"ed25519": func(k any) bool { _, ok := k.(ed25519.PrivateKey); return ok },
		"ecdsa":   func(k any) bool { _, ok := k.(*ecdsa.PrivateKey); return ok },
		"rsa":     func(k any) bool { r, ok := k.(*rsa.PrivateKey); return ok && r.N.BitLen() == 3072 },
	} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			private, public := filepath.Join(dir, "key.pem"), filepath.Join(dir, "pub.pem")
			out, _ := tool(t, 0, "keygen", "-type", kind, private, public)
			key, err := cli.ReadPrivate(private)
			if err != nil || !is(key) {
				t.Fatalf("%T, %v", key, err)
			}
			pub, err := cli.ReadPublic(public)
			if err != nil || !keys.Equal(pub, key.Public()) {
				t.Errorf("another public key, %v", err)
			}
			contains(t, out, private+", "+public+": "+kind+" key SHA256:"+fingerprint(t, pub)+"\n")
			st, err := os.Stat(private)
			expect.OK(t, err)
			if mode := st.Mode().Perm(); os.PathSeparator == '/' && mode&0o077 != 0 && mode != 0o666 { // 0666: no permissions here
				t.Errorf("mode %o", mode)
			}
		})
	}
}

// TestKeygenKeepsFiles: nothing is replaced, and half a pair does not stay.
func TestKeygenKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old.pem"), filepath.Join(dir, "new.pem")
	expect.OK(t, os.WriteFile(old, []byte("old"), 0o666))
	for _, args := range [][]string{{old, fresh}, {fresh, old}, {fresh, fresh}} {
		_, errs := tool(t, 1, append([]string{"keygen"}, args...)...)
		contains(t, errs, "exists")
		if _, err := os.Stat(fresh); err == nil {
			t.Errorf("%q: half a pair stays", args)
		}
	}
	if got, _ := os.ReadFile(old); string(got) != "old" {
		t.Errorf("replaced by %q", got)
	}
}

// TestSign: to another file and in place, new and anew.
func TestSign(t *testing.T) {
	ed, edPub := pair(t, "ed25519")
	ec, ecPub := pair(t, "ecdsa")
	for _, tt := range []struct {
		name, in, key, pub, secret string
	}{
		{"mle", writeMLE(t, nil), ed, edPub, ""},
		{"mle compressed", writeMLE(t, &format.WriteOptions{Compression: "zstd", Format: mle.Format{}}), ed, edPub, ""},
		{"mle encrypted", writeMLE(t, &format.WriteOptions{Key: secret, Signer: ed25519.NewKeyFromSeed(secret), Format: mle.Format{}}), ed, edPub, secretHex},
		{"wia", writeWIA(t, quantizedSchema(), nil), ec, ecPub, ""},
		{"wia compressed", writeWIA(t, quantizedSchema(), &format.WriteOptions{Compression: "zstd", Format: wia.Format{CompressTensor: func(tensor.Info) wia.Compression { return wia.None }}}), ec, ecPub, ""},
		{"wia encrypted", writeWIA(t, quantizedSchema(), &format.WriteOptions{Key: secret, Format: wia.Format{}}), ec, ecPub, secretHex},
		{"wia external", writeWIA(t, quantizedSchema(), &format.WriteOptions{ExternalFrom: 6, Format: wia.Format{}}), ec, ecPub, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "wia external" {
				testhost.NeedTimes(t)
			}
			before := expect.Read(t, tt.in)
			signed := filepath.Join(t.TempDir(), "signed"+filepath.Ext(tt.in))
			var with []string
			if tt.secret != "" {
				with = []string{"-key", tt.secret}
			}
			sign := slices.Concat([]string{"sign", "-with", tt.key}, with)
			check := func(path string) {
				t.Helper()
				out, _ := tool(t, 0, slices.Concat([]string{"verify"}, with, []string{"-trust", tt.pub, path})...)
				contains(t, out, path+": ok (", "), signed by SHA256:")
				out, _ = tool(t, 0, slices.Concat([]string{"diff"}, with, []string{tt.in, path})...)
				contains(t, out, "\nequal: ")
			}
			out, _ := tool(t, 0, append(sign, tt.in, signed)...)
			contains(t, out, signed+": signed by SHA256:")
			check(signed)
			if after, _ := os.ReadFile(tt.in); !cmp.Equal(before, after) {
				t.Error("the input changed")
			}
			tool(t, 0, append(sign, signed)...) // anew
			check(signed)
			tool(t, 0, append(sign, tt.in)...) // in place
			check(tt.in)
		})
	}
}
