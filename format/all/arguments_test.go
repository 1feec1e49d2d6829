package all_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
)

// TestMissingArguments: what is nil is named.
func TestMissingArguments(t *testing.T) {
	expect.Says(t, os.ErrInvalid, "file system")(format.OpenFS(nil, "m.mag", nil))
	expect.Says(t, format.ErrOption, "rank 0 of a group of 0")(format.ShardRequests(nil, 0, 0, nil))
	expect.Says(t, format.ErrOption, "rank -1 of a group of 2")(format.ShardRequests(nil, -1, 2, nil))
	expect.Says(t, format.ErrOption, "rank 2 of a group of 2")(format.ShardRequests(nil, 2, 2, nil))
}

// TestRangeBehindTheFile: a range of external data that begins behind the end of its file is truncated, however long it is.
func TestRangeBehindTheFile(t *testing.T) {
	dir := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "data.bin"), make([]byte, 10), 0o600))
	e := format.OpenExternalData(dir)
	defer e.Close()
	for _, length := range []int64{-1, 0, 1} {
		expect.Says(t, format.ErrTruncated, "at 11 of a file of 10")(e.Range("data.bin", 11, length))
	}
}

// trustFunc is a Trust.
type trustFunc func(ctx context.Context, u *format.Unverified) error

func (f trustFunc) Check(ctx context.Context, u *format.Unverified) error { return f(ctx, u) }

// TestUnverifiedLimits: an Unverified serves only during Check, reads no large files, and requires one signature of a file.
func TestUnverifiedLimits(t *testing.T) {
	var kept *format.Unverified
	closed := new(format.Unverified)
	path := filepath.Join(t.TempDir(), "m.mle")
	weight, err := tensor.Of("w", tensor.Shape{2}, []float32{1, 2})
	expect.OK(t, err)
	signer := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	expect.OK(t, format.Save(t.Context(), path, nil, []tensor.View{weight}, &format.WriteOptions{Signer: signer, Format: mle.Format{}}))
	large := path + ".sig"
	expect.OK(t, os.WriteFile(large, nil, 0o600))
	expect.OK(t, os.Truncate(large, 64<<20+1))
	other := ed25519.NewKeyFromSeed([]byte("another seed of thirty-two bytes"))
	checks := map[string]struct {
		check trustFunc
		err   error
		text  string
	}{
		"a large file": {func(_ context.Context, u *format.Unverified) error {
			_, err := u.ReadFile("m.mle.sig")
			return err
		}, format.ErrLimit, "the limit is 67108864"},
		"two keys": {func(_ context.Context, u *format.Unverified) error {
			expect.OK(t, u.CheckSignature(signer.Public()))
			expect.OK(t, u.CheckSignature(signer.Public()))
			return u.CheckSignature(other.Public())
		}, format.ErrSignature, "two keys"},
		"no digest": {func(_ context.Context, u *format.Unverified) error { return u.Require("m.mle") }, format.ErrOption, "no Digest"},
		"kept": {func(_ context.Context, u *format.Unverified) error {
			kept = u
			return u.CheckSignature(signer.Public())
		}, nil, ""},
	}
	for name, c := range checks {
		m, err := format.Open(path, &format.Options{Trusted: c.check})
		if c.err != nil {
			expect.Says(t, c.err, c.text)(m, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expect.OK(t, m.Close())
	}
	for _, u := range []*format.Unverified{closed, kept} {
		expect.Refused(t, format.ErrClosed)(u.ReadFile("m.mle.sig"))
		expect.Refused(t, format.ErrClosed)(nil, u.Require("m.mle", format.Digest{New: sha256.New, Sum: make([]byte, sha256.Size)}))
		expect.Refused(t, format.ErrClosed)(nil, u.CheckSignature(signer.Public()))
	}
}

// TestOtherQuantization: a tensor is not written under a schema with other scales.
func TestOtherQuantization(t *testing.T) {
	quantized := func(scale float32) tensor.Info {
		return tensor.Info{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{4}, Quant: &tensor.Quantization{Scales: []float32{scale}, Axis: tensor.PerTensor}}
	}
	v, err := tensor.FromInfo(quantized(.5), []byte{1, 2, 3, 4})
	expect.OK(t, err)
	for scale, want := range map[float32]error{.5: nil, .25: tensor.ErrQuantization} {
		w, err := format.NewWriter(io.Discard, &schema.Schema{Tensors: []tensor.Info{quantized(scale)}}, &format.WriteOptions{Format: mle.Format{Quantized: true}})
		expect.OK(t, err)
		err = w.WriteView(v)
		if want == nil {
			expect.OK(t, err)
		} else {
			expect.Says(t, want, "others than the model")(nil, err)
		}
		w.Abort()
	}
}
