package mag

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// damaged is a file of two tensors with digests, one of which has a flipped bit.
func damaged(t *testing.T) *File {
	t.Helper()
	p := &format.Plan{Tensors: []tensor.Info{
		{Name: "good", DType: tensor.Float32, Shape: tensor.Shape{500_000}},
		{Name: "bad", DType: tensor.Float32, Shape: tensor.Shape{500_000}},
	}}
	b := write(t, p, map[string][]byte{"good": make([]byte, 2_000_000), "bad": bytes.Repeat([]byte{1}, 2_000_000)}, nil, nil)
	b[len(b)-1000] ^= 4
	f, err := OpenBytes(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestVerify(t *testing.T) {
	f := damaged(t)
	_, err := f.Verify(t.Context())
	var e *format.Error
	if !errors.Is(err, format.ErrChecksum) || !errors.As(err, &e) || e.Field != `tensor "bad"` || e.Offset != f.At(1).Info().Offset {
		t.Errorf("damage: %v", err)
	}
	if _, err := f.Verify(t.Context(), format.WithTensors("good", "good")); err != nil {
		t.Errorf("the good tensor: %v", err)
	}
	if _, err := f.Verify(t.Context(), format.WithTensors("other")); !errors.Is(err, format.ErrNotFound) {
		t.Errorf("a tensor that is not there: %v", err)
	}
	if _, err := f.Verify(t.Context(), format.WithTrustedKey(ed25519.PublicKey{})); !errors.Is(err, format.ErrSignature) {
		t.Errorf("a trusted key: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := f.Verify(t.Context(), format.WithWorkers(1)); !errors.Is(err, format.ErrChecksum) {
		t.Errorf("one worker: %v", err)
	}
	f.Close()
	if _, err := f.Verify(t.Context()); !errors.Is(err, format.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestVerifyStructure: a checksum that opening was told to ignore is still
// checked by Verify, and CheckAll checks data on open.
func TestVerifyStructure(t *testing.T) {
	bad := baseV1()
	bad.sum = ptr(1)
	snap := baseSnapshot()
	snap.sum = ptr(1)
	for _, b := range [][]byte{bad.bytes(), snap.bytes()} {
		f, err := OpenBytes(b, &format.Options{Check: format.CheckStructure})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Verify(t.Context()); !errors.Is(err, format.ErrChecksum) {
			t.Errorf("verify: %v", err)
		}
	}
	file := goldenV1()
	file.metadata[3].payload++
	if _, err := OpenBytes(file.bytes(), nil); err != nil {
		t.Errorf("digests are checked on open: %v", err)
	}
	if _, err := OpenBytes(file.bytes(), &format.Options{Check: format.CheckAll}); !errors.Is(err, format.ErrChecksum) {
		t.Errorf("CheckAll: %v", err)
	}
}
