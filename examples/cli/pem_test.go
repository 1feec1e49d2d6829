package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestPEM: an error of a PEM file names the file, once, and says what is wrong with it.
func TestPEM(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		expect.OK(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	private := write("key.pem", "PRIVATE KEY", expect.Must(x509.MarshalPKCS8PrivateKey(key)))
	public := write("pub.pem", "PUBLIC KEY", expect.Must(x509.MarshalPKIXPublicKey(key.Public())))
	signer, err := ReadPrivate(private)
	expect.OK(t, err)
	trusted, err := ReadPublic(public)
	expect.OK(t, err)
	if !key.PublicKey.Equal(trusted) || Fingerprint(trusted) != Fingerprint(signer.Public()) {
		t.Error("another key")
	}
	_, errPrivate := ReadPrivate(public)
	_, errPublic := ReadPublic(private)
	_, errAbsent := ReadPublic(filepath.Join(dir, "absent"))
	for _, c := range []struct {
		err  error
		want string
	}{
		{errPrivate, public + " is a public key: name the file of the private key"},
		{errPublic, private + " is a private key: name the file of the public key"},
		{errAbsent, "absent: "},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) || strings.Count(c.err.Error(), dir) != 1 {
			t.Errorf("%v, want %s", c.err, c.want)
		}
	}
}
