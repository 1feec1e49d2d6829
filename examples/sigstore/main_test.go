package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/signing"
	"github.com/weightmap/weightmap/internal/expect"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	identity = "me@example.com"
	issuer   = "https://accounts.example.com"
)

// statement returns the statement to sign for a model.
func statement(t *testing.T, dir string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	b, err := signing.Sign(context.Background(), dir, signing.Signer{Key: key}, nil)
	expect.OK(t, err)
	var text struct{ DSSEEnvelope struct{ Payload []byte } }
	expect.OK(t, json.Unmarshal(b.Bytes(), &text))
	return text.DSSEEnvelope.Payload
}

// signed returns a bundle like those of Sigstore's clients.
func signed(t *testing.T, v *ca.VirtualSigstore, payload []byte) []byte {
	t.Helper()
	e, err := v.AttestAtTime(identity, issuer, payload, time.Now().Add(5*time.Minute), true)
	expect.OK(t, err)
	vc, err1 := e.VerificationContent()
	sc, err2 := e.SignatureContent()
	entries, err3 := e.TlogEntries()
	stamps, err4 := e.Timestamps()
	expect.OK(t, errors.Join(err1, err2, err3, err4))
	log := entries[0].TransparencyLogEntry()
	log.KindVersion = &rekor.KindVersion{Kind: "dsse", Version: "0.0.1"}
	entry, err := protojson.Marshal(log)
	expect.OK(t, err)
	base := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": {
 "certificate": {"rawBytes": %q}, "tlogEntries": [%s], "timestampVerificationData": {"rfc3161Timestamps": [{"signedTimestamp": %q}]}},
 "dsseEnvelope": {"payload": %q, "payloadType": "application/vnd.in-toto+json", "signatures": [{"sig": %q}]}}`,
		base(vc.Certificate().Raw), entry, base(stamps[0]), base(payload), base(sc.Signature()))
}

// TestVerifier checks that only models signed by the identity are trusted.
func TestVerifier(t *testing.T) {
	v, err := ca.NewVirtualSigstore()
	expect.OK(t, err)
	dir := t.TempDir()
	weights := filepath.Join(dir, "weights.bin")
	expect.OK(t, os.WriteFile(weights, []byte("abc"), 0o666))
	text := signed(t, v, statement(t, dir))
	b, err := signing.Parse(text)
	expect.OK(t, err)
	other, err := ca.NewVirtualSigstore()
	expect.OK(t, err)
	check := func(f func(context.Context, []byte) ([]byte, string, error)) error {
		r, err := signing.Verify(context.Background(), b, dir, &signing.Trust{Sigstore: f}, nil)
		if err == nil && (r.Signer != identity || r.Method != signing.Sigstore) {
			t.Errorf("%+v", r)
		}
		return err
	}
	expect.OK(t, check(verifier(v, identity, issuer)))
	if err := check(nil); !errors.Is(err, format.ErrUnsupported) {
		t.Error("no verifier:", err)
	}
	if err := check(verifier(v, "you@example.com", issuer)); !errors.Is(err, format.ErrSignature) {
		t.Error("another identity:", err)
	}
	if err := check(verifier(v, identity, "https://example.org")); !errors.Is(err, format.ErrSignature) {
		t.Error("another issuer:", err)
	}
	if err := check(verifier(other, identity, issuer)); !errors.Is(err, format.ErrSignature) {
		t.Error("another root:", err)
	}
	expect.OK(t, os.WriteFile(weights, []byte("abd"), 0o666))
	if err := check(verifier(v, identity, issuer)); !errors.Is(err, format.ErrChecksum) || !strings.Contains(err.Error(), weights) {
		t.Error("another file:", err)
	}
}
