package signing

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/testhost"
)

// written are bundles of ours: of each curve, of ranges, and with a certificate.
func written(t *testing.T) map[string]*Bundle {
	t.Helper()
	dir := model(t, map[string]string{"config.json": "{}", "sub/weights.bin": "abc", "模型": "y"})
	root := (*authority)(nil).issue(t, "root", nil)
	a := root.issue(t, "signer", leaf)
	all := map[string]*Bundle{}
	for name, c := range map[string]struct {
		by Signer
		o  *Options
	}{
		"P-256":       {Signer{Key: newKey(t, elliptic.P256())}, nil},
		"P-384":       {Signer{Key: newKey(t, elliptic.P384())}, &Options{Ignore: []string{"x"}}},
		"P-521":       {Signer{Key: newKey(t, elliptic.P521())}, nil},
		"ranges":      {Signer{Key: newKey(t, elliptic.P256())}, &Options{ShardSize: 2}},
		"certificate": {Signer{Key: a.key, Chain: []*x509.Certificate{a.cert, root.cert}}, nil},
	} {
		b, err := Sign(context.Background(), dir, c.by, c.o)
		expect.OK(t, err)
		all[name] = b
	}
	return all
}

// envelope is what a reader of JSON that knows nothing of this package finds in a bundle.
func envelope(t *testing.T, text []byte) (payload, sig []byte) {
	t.Helper()
	var b struct {
		DSSEEnvelope struct {
			Payload    []byte
			Signatures []struct{ Sig []byte }
		}
	}
	expect.OK(t, json.Unmarshal(text, &b))
	return b.DSSEEnvelope.Payload, b.DSSEEnvelope.Signatures[0].Sig
}

// TestOpenSSL: openssl signs the pre-authentication encoding, and verifies what we sign.
func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(openssl, args...).CombinedOutput(); err != nil {
			t.Fatalf("openssl %v: %v\n%s", args, err, out)
		}
	}
	files := model(t, twoFiles)
	for _, c := range []struct{ curve, hash string }{{"P-256", "-sha256"}, {"P-384", "-sha384"}, {"P-521", "-sha512"}} {
		run("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:"+c.curve, "-out", in("key.pem"))
		run("pkey", "-in", in("key.pem"), "-pubout", "-out", in("pub.pem"))
		key, err := keys.ParsePrivate(expect.Read(t, in("key.pem")))
		expect.OK(t, err)
		b, err := Sign(context.Background(), files, Signer{Key: key}, nil)
		expect.OK(t, err)
		payload, sig := envelope(t, b.Bytes())
		expect.OK(t, os.WriteFile(in("pae"), fmt.Appendf(nil, "DSSEv1 28 application/vnd.in-toto+json %d %s", len(payload), payload), 0o666))
		expect.OK(t, os.WriteFile(in("sig"), sig, 0o666))
		run("dgst", c.hash, "-verify", in("pub.pem"), "-signature", in("sig"), in("pae"))

		// The other way: the hint is the SHA-256 of openssl's file.
		run("dgst", c.hash, "-sign", in("key.pem"), "-out", in("sig"), in("pae"))
		sig = expect.Read(t, in("sig"))
		pub := expect.Read(t, in("pub.pem"))
		f := forged(t, key.(*ecdsa.PrivateKey), nil)
		f.material = `{"publicKey": {"hint": "` + hexSum(pub) + `"}}`
		f.payload, f.signatures = string(payload), `[{"sig": "`+base64.StdEncoding.EncodeToString(sig)+`"}]`
		trust, err := ReadTrust(in("pub.pem"))
		expect.OK(t, err)
		if _, err := verify(f.make(t), files, trust, nil); err != nil {
			t.Errorf("%s: %v", c.curve, err)
		}
	}
}

// TestSchemas: python3-jsonschema checks what we write against the schemas of the specification, written after
// its text.
func TestSchemas(t *testing.T) {
	dir, want := t.TempDir(), map[string]bool{}
	// A document is named after its schema.
	add := func(schema, name string, text []byte, good bool) {
		name = schema + "-" + name
		want[name] = good
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), text, 0o666))
	}
	for name, b := range written(t) {
		payload, _ := envelope(t, b.Bytes())
		add("bundle", name, b.Bytes(), true)
		add("statement", name, payload, true)
	}
	add("bundle", "empty", []byte("{}"), false)
	add("statement", "empty", []byte("{}"), false)
	// The schemas agree with the vectors of the specification, where those are.
	for name, good := range map[string]bool{
		"valid-key": true, "valid-certificate": true, "invalid-missing-envelope": false, "invalid-missing-tlog-entries": false,
		"invalid-missing-verification-material": false, "invalid-payload-wrong-predicate": true,
	} {
		text, err := os.ReadFile(filepath.Join(foreign, "vector-"+name+".json"))
		if err != nil {
			t.Log("no vectors:", err)
			break
		}
		if add("bundle", name, text, good); good {
			payload, _ := envelope(t, text)
			add("statement", name, payload, name != "invalid-payload-wrong-predicate")
		}
	}
	out := testhost.Python(t, "jsonschema", "testdata/schemas.py", "testdata/schemas.json", dir)
	got := map[string]bool{}
	expect.OK(t, json.Unmarshal([]byte(out), &got))
	expect.Equal(t, want, got)
}

// foreign has the specification's test vectors and bundles of the reference implementation.
const foreign = "../../../shared/foreign/oms"

// TestForeign verifies the vectors of the specification and the bundles of the reference
// implementation.
func TestForeign(t *testing.T) {
	if _, err := os.Stat(foreign); err != nil {
		t.Skip("no bundles of others:", err)
	}
	in := func(name string) string { return filepath.Join(foreign, name) }
	key, err := ReadTrust(in("signing-key-pub.pem"))
	expect.OK(t, err)
	ca, err := ReadTrust(in("ca-cert.pem"))
	expect.OK(t, err)
	// The certificates of the reference implementation are valid from 2025 to 2035.
	ca.Time = at2025.AddDate(1, 0, 0)
	sig := &Options{Ignore: []string{"model.sig"}}
	byKey, byCert := in("v1.1.0-elliptic-key"), in("v1.1.0-certificate")
	for _, test := range []struct {
		bundle, model string
		trust         *Trust
		o             *Options
		want          error
	}{
		{"v1.1.0-elliptic-key/model.sig", byKey, key, nil, nil},
		{"v1.1.0-elliptic-key/model.sig", byKey, ca, nil, format.ErrSignature},
		{"v1.1.0-elliptic-key/model.sig", byCert, key, nil, format.ErrChecksum},
		{"v1.1.0-certificate/model.sig", byCert, ca, nil, nil},
		{"v1.1.0-certificate/model.sig", byCert, key, nil, format.ErrSignature},
		{"v1.1.0-certificate/model.sig", byCert, &Trust{Roots: ca.Roots, Time: at2025}, nil, format.ErrSignature},
		{"v1.1.0-certificate/model.sig", byKey, ca, nil, format.ErrChecksum},
		{"vector-valid-key.json", byKey, key, sig, nil},
		{"vector-valid-key.json", byKey, key, nil, format.ErrSignature}, // model.sig is not listed
		{"vector-valid-certificate.json", byKey, ca, sig, nil},
		{"vector-invalid-payload-wrong-predicate.json", byKey, key, sig, format.ErrSignature},
	} {
		b, err := Read(in(test.bundle))
		expect.OK(t, err)
		expect.Refused(t, test.want, test.bundle, test.model)(Verify(context.Background(), b, test.model, test.trust, test.o))
	}
	for _, name := range []string{"empty", "missing-envelope", "missing-tlog-entries", "missing-verification-material"} {
		expect.Refused(t, format.ErrCorrupt, name)(Read(in("vector-invalid-" + name + ".json")))
	}
}
