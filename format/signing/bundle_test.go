package signing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

var twoFiles = map[string]string{"config.json": "{}", "sub/weights.bin": "abc"}

// TestVerify verifies bundles as the specification writes them, with each curve and with the
// variations it tolerates.
func TestVerify(t *testing.T) {
	p256, p384, p521 := newKey(t, elliptic.P256()), newKey(t, elliptic.P384()), newKey(t, elliptic.P521())
	raw := func(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
	for _, test := range []struct {
		name   string
		change func(*forge)
		plain  *forge
	}{
		{"P-256", nil, forged(t, p256, twoFiles)},
		{"P-521", nil, forged(t, p521, twoFiles)},
		{"no transparency log", func(f *forge) { f.material = strings.Replace(f.material, `, "tlogEntries": []`, "", 1) }, forged(t, p256, twoFiles)},
		{"keyid null", func(f *forge) { f.signatures = `[{"sig": "%s", "keyid": null}]` }, forged(t, p256, twoFiles)},
		{"rawBytes of v1.0, PEM", func(f *forge) {
			f.material = `{"publicKey": {"rawBytes": "` + raw(pemOf(t, p256)) + `", "keyDetails": "PKIX_ECDSA_P256_SHA_256"}}`
		}, forged(t, p256, twoFiles)},
		{"no ignore_paths", func(f *forge) {
			f.serialized = `{"method": "files", "hash_type": "sha256", "allow_symlinks": false}`
		}, forged(t, p256, twoFiles)},
		{"unknown fields", func(f *forge) {
			f.more = `, "x": [1, {"y": null}]`
			f.statement = strings.Replace(f.statement, `"predicate": {`, `"predicate": {"x": {"_type": 1}, `, 1)
		}, forged(t, p256, twoFiles)},
		{"version 0.2", old("b'%s'", p256), forged(t, p256, twoFiles)},
		{"version 0.2, SHA-256 for P-384", func(f *forge) {
			old("b'%s'", p384)(f)
			f.hash = forged(t, p256, nil).hash
		}, forged(t, p384, twoFiles)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.change != nil {
				test.change(test.plain)
			}
			dir := model(t, twoFiles)
			r, err := verify(test.plain.make(t), dir, trusting(p256, p384, p521), nil)
			expect.OK(t, err)
			want := []File{{"config.json", hexSum([]byte("{}"))}, {"sub/weights.bin", hexSum([]byte("abc"))}}
			expect.Equal(t, want, r.Files)
			if r.Method != Key || len(r.Signer) != 64 {
				t.Errorf("%+v", r)
			}
			unverified(t, "another key", format.ErrSignature, test.plain.make(t), dir, trusting(newKey(t, elliptic.P256())), nil)
			unverified(t, "no key", format.ErrSignature, test.plain.make(t), dir, &Trust{}, nil)
			for name, key := range map[string]crypto.PublicKey{
				"a key by value": newKey(t, elliptic.P256()).PublicKey, "a private key": newKey(t, elliptic.P256()),
				"Ed25519": ed25519.PublicKey(make([]byte, 32)), "a nil key": nil, "a string": "key",
			} {
				trust := trusting(newKey(t, elliptic.P256()))
				trust.Keys = append(trust.Keys, key)
				unverified(t, name, format.ErrKey, test.plain.make(t), dir, trust, nil)
			}
			unverified(t, "nil", format.ErrSignature, test.plain.make(t), dir, nil, nil)
		})
	}
}

// old converts a bundle to version 0.2. The statement has a quote, a backslash, a line end and a
// non-ASCII letter, which Python escapes.
func old(literal string, _ any) func(*forge) {
	return func(f *forge) {
		var list []string
		for name, sum := range f.resources {
			list = append(list, fmt.Sprintf(`{"name": %q, "digest": {"sha256": %q}, "annotations": {"actual_hash_algorithm": "file-sha256"}}`, name, sum))
		}
		slices.Sort(list)
		f.payload = `{"_type": "https://in-toto.io/Statement/v1", "subject": [` + strings.Join(list, ",\n\t") + `],` + "\r" +
			` "predicateType": "https://model_signing/Digests/v0.1", "predicate": {"unused": "it's \"ü\""}}`
		f.encoding = func(payloadType, payload string) string {
			escaped := strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "ü", `\xc3\xbc`).Replace(payload)
			return fmt.Sprintf("DSSEV1 %d %s %d %s", len(payloadType), payloadType, len(payload), fmt.Sprintf(literal, escaped))
		}
	}
}

// TestRefused checks bundles with a valid signature and other faults, and the errors.
func TestRefused(t *testing.T) {
	key := newKey(t, elliptic.P256())
	sentence := func(from, to string) func(*forge) {
		return func(f *forge) {
			was := f.statement
			if f.statement = strings.Replace(was, from, to, 1); f.statement == was {
				panic(from)
			}
		}
	}
	serialized := func(text string) func(*forge) { return func(f *forge) { f.serialized = text } }
	shards := func(more string) func(*forge) {
		return serialized(`{"method": "shards", "hash_type": "sha256", "allow_symlinks": false` + more + `}`)
	}
	files := func(more string) func(*forge) {
		return serialized(`{"method": "files", "hash_type": "sha256", "allow_symlinks": false, ` + more + `}`)
	}
	material := func(text string) func(*forge) { return func(f *forge) { f.material = text } }
	named := func(name string) func(*forge) {
		return func(f *forge) { f.resources = map[string]string{name: hexSum(nil)} }
	}
	payload := func(text string) func(*forge) { return func(f *forge) { f.payload = text } }
	hint := `"publicKey": {"hint": "` + hexSum(pemOf(t, key)) + `"}`
	type fault struct {
		name   string
		change func(*forge)
		says   string
	}
	for want, faults := range map[error][]fault{
		format.ErrUnsupported: {
			{"media type of v0.1", func(f *forge) { f.mediaType = `"application/vnd.dev.sigstore.bundle+json;version=0.1"` }, "mediaType"},
			{"payload type", func(f *forge) { f.payloadType = "application/octet-stream" }, "dsseEnvelope.payloadType"},
			{"a message signature too", func(f *forge) { f.more = `, "messageSignature": {}` }, "messageSignature"},
			{"statement type", sentence("Statement/v1", "Statement/v0.1"), "statement._type"},
			{"predicate type", sentence("signature/v1.0", "signature/v2.0"), "statement.predicateType"},
			{"algorithm", func(f *forge) {
				f.statement = strings.Replace(f.statement, "[%s]", `[{"name": "a", "digest": "`+hexSum(nil)+`", "algorithm": "blake3"}, %s]`, 1)
			}, `"blake3"`},
			{"hash", serialized(`{"method": "files", "hash_type": "blake2b", "allow_symlinks": false}`), `"blake2b"`},
			{"method", serialized(`{"method": "trees", "hash_type": "sha256", "allow_symlinks": false}`), `"trees"`},
		},
		format.ErrCorrupt: {
			{"media type null", func(f *forge) { f.mediaType = `null` }, "mediaType: corrupt: it is missing"},
			{"no material", material(`{}`), "verificationMaterial"},
			{"two kinds", material(`{` + hint + `, "x509CertificateChain": {"certificates": []}}`), "2 of publicKey"},
			{"a key twice", material(`{` + hint + `,` + hint + `}`), "a key occurs twice"},
			{"no certificates", material(`{"x509CertificateChain": {"certificates": []}}`), "certificates"},
			{"certificates are none", material(`{"x509CertificateChain": {"certificates": [{"rawBytes": "AAAA"}]}}`), "rawBytes"},
			{"no signature", func(f *forge) { f.signatures = `[]` }, "signatures: corrupt: it is empty"},
			{"not Base64", func(f *forge) { f.signatures = `[{"sig": "****"}]` }, "Base64"},
			{"Base64 with line ends", func(f *forge) { f.signatures = `[{"sig": "%s\n"}]` }, "Base64"},
			{"text after the object", func(f *forge) { f.more = `} {"a": 1` }, "text after the object"},
			{"nested deeply", func(f *forge) { f.more = `, "x": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40) }, "levels"},
			{"statement is cut", payload(`{"_type": `), "statement"},
			{"statement is a list", payload("[]"), "expected an object"},
			{"statement has bad UTF-8", payload("{\"a\": \"\xff\"}"), "UTF-8"},
			{"statement type in capitals", sentence("_type", "_TYPE"), "statement._type"},
			{"no predicate", sentence(`"predicate":`, `"x":`), "statement.predicate:"},
			{"subject without name", sentence(`"model"`, `""`), "statement.subject.name"},
			{"no resources", func(f *forge) { f.resources = nil }, "it is empty"},
			{"resource twice", sentence(`"resources": [`, `"resources": [{"name": "config.json", "digest": "`+hexSum([]byte("{}"))+`", "algorithm": "sha256"}, `), "listed twice"},
			{"digest in capitals", func(f *forge) { f.resources["config.json"] = strings.ToUpper(hexSum([]byte("{}"))) }, "SHA-256"},
			{"digest of another length", func(f *forge) { f.resources["config.json"] = "00" }, "SHA-256"},
			{"absolute", named("/etc/passwd"), `"/etc/passwd"`},
			{"parent in the middle", named("a/../b"), `"a/../b"`},
			{"a directory", named("a/"), `"a/"`},
			{"itself among others", func(f *forge) { f.resources["."] = hexSum(nil) }, `"."`},
			{"no links", serialized(`{"method": "files", "hash_type": "sha256"}`), "allow_symlinks"},
			{"files in ranges", files(`"shard_size": 5`), "shard_size"},
			{"ranges of no size", shards(``), "shard_size"},
			{"ranges of 0 bytes", shards(`, "shard_size": 0`), "shard_size"},
			{"ranges of 1e3 bytes", shards(`, "shard_size": 1e3`), "shard_size"},
			{"ranges without names", shards(`, "shard_size": 10`), "no range"},
			{"ignores a pattern", files(`"ignore_paths": ["*"]`), `"*"`},
			{"ignores the parent", files(`"ignore_paths": ["a/../../b"]`), `"a/../../b"`},
			{"ignores a number", files(`"ignore_paths": [1]`), "ignore_paths"},
			{"version 0.2 without files", payload(`{"_type": "https://in-toto.io/Statement/v1", "subject": [], "predicateType": "https://model_signing/Digests/v0.1"}`), "it is empty"},
		},
		format.ErrSignature: {
			{"another hint", material(`{"publicKey": {"hint": "00"}}`), "another key"},
			{"rawBytes are no key", material(`{"publicKey": {"rawBytes": "AAAA"}}`), "another key"},
			{"SHA-512 for P-256", func(f *forge) { f.hash = forged(t, newKey(t, elliptic.P521()), nil).hash }, "does not fit"},
			{"signed as by version 0.2", func(f *forge) {
				f.encoding = func(kind, payload string) string {
					return fmt.Sprintf("DSSEV1 %d %s %d b'%s'", len(kind), kind, len(payload), strings.ReplaceAll(payload, "\n", `\n`))
				}
			}, "does not fit"},
		},
		format.ErrChecksum: {
			{"root digest", sentence(`"%s"`, `"`+hexSum(nil)+`%.0s"`), "statement.subject.digest.sha256"},
		},
	} {
		for _, test := range faults {
			t.Run(test.name, func(t *testing.T) {
				f := forged(t, key, twoFiles)
				test.change(f)
				_, err := verify(f.make(t), model(t, twoFiles), trusting(key), nil)
				if !errors.Is(err, want) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v, want %v with %q", err, want, test.says)
				}
			})
		}
	}
}

// TestFlips checks that a bundle with one byte changed is refused or has the same content.
func TestFlips(t *testing.T) {
	key := newKey(t, elliptic.P256())
	dir := model(t, twoFiles)
	b := forged(t, key, twoFiles).make(t)
	want, err := verify(b, dir, trusting(key), nil)
	expect.OK(t, err)
	refused := 0
	for i := range b {
		for _, x := range []byte{1, 0x20, 0x80} {
			c := bytes.Clone(b)
			c[i] ^= x
			got, err := verify(c, dir, trusting(key), nil)
			if err != nil {
				refused++
				continue
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Report{}, statement{}, part{})); diff != "" {
				t.Fatalf("byte %d of %q: %s", i, c, diff)
			}
		}
	}
	if most := len(b) * 3; refused < most*9/10 {
		t.Errorf("%d of %d were refused", refused, most)
	}
	for n := range b {
		if _, err := verify(b[:n], dir, trusting(key), nil); err == nil {
			t.Fatalf("cut to %d bytes", n)
		}
	}
}

// TestShards verifies bundles with ranges of files, and malformed ones.
func TestShards(t *testing.T) {
	key := newKey(t, elliptic.P256())
	files := map[string]string{"a": "0123456789", "b:1:2": "0123", "empty": ""}
	good := map[string]string{"a:0:4": "0123", "a:4:8": "4567", "a:8:10": "89", "b:1:2:0:4": "0123"}
	for _, test := range []struct {
		name   string
		change func(map[string]string)
		want   error
		says   string
	}{
		{"good", func(map[string]string) {}, nil, ""},
		{"another digest", func(m map[string]string) { m["a:4:8"] = "456x" }, format.ErrChecksum, "bytes 4 to 8"},
		{"the last is missing", func(m map[string]string) { delete(m, "a:8:10") }, format.ErrChecksum, "10 bytes, and 8 are signed"},
		{"one is missing", func(m map[string]string) { delete(m, "a:4:8") }, format.ErrCorrupt, "gap"},
		{"the first is missing", func(m map[string]string) { delete(m, "a:0:4") }, format.ErrCorrupt, "gap"},
		{"one behind a short one", func(m map[string]string) { m["a:12:14"] = "" }, format.ErrCorrupt, "gap"},
		{"too long", func(m map[string]string) { m["c:0:5"] = "" }, format.ErrCorrupt, "no range"},
		{"leading zeros", func(m map[string]string) { m["c:00:4"] = "" }, format.ErrCorrupt, "no range"},
		{"beyond 2^63", func(m map[string]string) { m["c:0:99999999999999999999"] = "" }, format.ErrCorrupt, "no range"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := maps.Clone(good)
			test.change(m)
			f := forged(t, key, m)
			f.serialized = `{"method": "shards", "hash_type": "sha256", "shard_size": 4, "allow_symlinks": false}`
			_, err := verify(f.make(t), model(t, files), trusting(key), nil)
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %v with %q", err, test.want, test.says)
			}
		})
	}
}

// TestLimit checks that a bundle over the size limit is not parsed.
func TestLimit(t *testing.T) {
	expect.Refused(t, format.ErrLimit)(Parse(make([]byte, maxBundle+1)))
}

func FuzzBundle(f *testing.F) {
	key := newKey(f, elliptic.P256())
	dir, other := model(f, twoFiles), trusting(newKey(f, elliptic.P256()))
	f.Add(forged(f, key, twoFiles).make(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b)
		if err != nil {
			return
		}
		p.Signer()
		if _, err := parseStatement(p.payload); err != nil && !isKnown(err) {
			t.Error(err)
		}
		if _, err := Verify(context.Background(), p, dir, other, nil); !isKnown(err) {
			t.Error("it was accepted:", err)
		}
	})
}

func isKnown(err error) bool {
	known := []error{format.ErrSignature, format.ErrCorrupt, format.ErrUnsupported, format.ErrChecksum}
	return slices.ContainsFunc(known, func(s error) bool { return errors.Is(err, s) })
}
