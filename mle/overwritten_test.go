package mle

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// overwrite changes bytes of a file in place, as another process may while the file is
// mapped.
func overwrite(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// snapshot returns everything in a file except its weights.
func snapshot(t *testing.T, f *File) []any {
	t.Helper()
	ir := f.IR()
	graph, err := f.Graph()
	if err != nil {
		t.Fatal(err)
	}
	info, _ := f.Compression()
	return []any{ir, graph, string(f.MetadataJSON()), f.Metadata(), f.Signature(), info, f.Header(), f.Notes()}
}

// TestOverwrittenWhileOpen checks that fields are not read from the mapping again after
// they were checked, and that Verify finds changes.
func TestOverwrittenWhileOpen(t *testing.T) {
	testhost.NeedMaps(t)
	g := chunkedGolden(zstdRaw, MethodZstd)
	g.flags |= 4
	g.sig = signedGolden().sig
	original := saved(t, g.build())
	if err := Sign(original, testSigner, nil); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	section := func(pos int) int64 { return int64(le.Uint64(b[pos:])) }
	ones := bytes.Repeat([]byte{0xFF}, 64)
	for name, at := range map[string]struct{ from, n int64 }{
		"chunk offset": {section(gComp) + 24 + 32, 8},
		"ndim":         {section(gGraph) + gTensor0 + 16, 4},
		"node counts":  {section(gGraph) + gNode0 + 2, 6},
		"attributes":   {section(gGraph) + gNode0 + 208, 4},
		"signature":    {section(gSig), 64},
		"header":       {48, 16},
	} {
		t.Run(name, func(t *testing.T) {
			path := saved(t, b)
			f, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			before := snapshot(t, f)
			overwrite(t, path, at.from, ones[:at.n])
			if diff := cmp.Diff(goldenContents, contents(t, f)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, snapshot(t, f)); diff != "" {
				t.Error(diff)
			}
			err = verify(f)
			if !errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrChecksum) {
				t.Errorf("Verify: %v, want ErrCorrupt or ErrChecksum", err)
			}
		})
	}
}

// TestKeyIsNotReadAgain checks that a public key written to the file after it was opened
// is not used: toggling the key must not make a foreign signature pass.
func TestKeyIsNotReadAgain(t *testing.T) {
	_, forger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := written(t, mixedPlan(), &WriteOptions{Signer: forger})
	path := saved(t, b)
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	overwrite(t, path, int64(le.Uint64(b[gSig:]))+sigKey, trusted(testSigner))
	for _, key := range []ed25519.PublicKey{trusted(testSigner), nil} {
		if status, err := f.CheckSignature(context.Background(), key); err != nil || status != Untrusted {
			t.Errorf("%v, %v, want Untrusted", status, err)
		}
	}
	if err := verify(f, format.WithTrustedKey(trusted(testSigner))); err == nil {
		t.Error("a foreign signature is accepted")
	}
}
