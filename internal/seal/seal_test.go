package seal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

var key = bytes.Repeat([]byte{7}, KeySize)

func cipherOf(t *testing.T, key []byte) *Cipher {
	t.Helper()
	c, err := New(key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func open(c *Cipher, sealed, extra []byte) ([]byte, error) {
	return c.OpenAt(bytes.NewReader(sealed), 0, int64(len(sealed)), extra)
}

// TestVector decrypts test case 16 of the GCM specification.
func TestVector(t *testing.T) {
	b := func(s string) []byte {
		t.Helper()
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	c := cipherOf(t, b("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
	sealed := b("cafebabefacedbaddecaf888" +
		"522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662" +
		"76fc6ece0f4e1768cddf8853bb2d551b")
	want := b("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39")
	got, err := open(c, sealed, b("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
}

func TestRoundTrip(t *testing.T) {
	c := cipherOf(t, key)
	for _, plain := range [][]byte{{}, []byte("a"), bytes.Repeat([]byte("weights"), 1000)} {
		sealed, err := c.Seal(plain, []byte("graph"))
		if err != nil || len(sealed) != len(plain)+Overhead {
			t.Fatalf("%d bytes of %d: %v", len(sealed), len(plain), err)
		}
		got, err := open(c, sealed, []byte("graph"))
		if d := cmp.Diff(plain, got); d != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, d)
		}
		again, err := c.Seal(plain, []byte("graph"))
		if err != nil || bytes.Equal(sealed[:12], again[:12]) {
			t.Errorf("a nonce was used twice, %v", err)
		}
	}
}

func TestRefused(t *testing.T) {
	c := cipherOf(t, key)
	sealed, err := c.Seal([]byte("weights"), []byte("graph"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		b := bytes.Clone(sealed)
		b[i] ^= 1
		if _, err := open(c, b, []byte("graph")); !errors.Is(err, tensor.ErrKey) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	if _, err := open(c, sealed, []byte("tensor")); !errors.Is(err, tensor.ErrKey) {
		t.Errorf("another block: %v", err)
	}
	if _, err := open(cipherOf(t, bytes.Repeat([]byte{8}, KeySize)), sealed, []byte("graph")); !errors.Is(err, tensor.ErrKey) {
		t.Errorf("another key: %v", err)
	}
	for n := range Overhead {
		if _, err := open(c, sealed[:n], nil); !errors.Is(err, tensor.ErrCorrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for _, n := range []int{0, 1, 16, 31, 33} {
		if _, err := New(make([]byte, n)); !errors.Is(err, tensor.ErrKey) {
			t.Errorf("a key of %d bytes: %v", n, err)
		}
	}
}

// endless is an io.ReaderAt without an end.
type endless struct{}

func (endless) ReadAt(p []byte, _ int64) (int, error) { return len(p), nil }

// TestTooLarge checks that a message larger than memory is refused.
func TestTooLarge(t *testing.T) {
	if _, err := cipherOf(t, key).OpenAt(endless{}, 0, 1<<62, nil); !errors.Is(err, tensor.ErrLimit) {
		t.Error(err)
	}
}
