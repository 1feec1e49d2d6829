package formattest

import (
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// verify checks that verification reports progress, can be canceled, and does not accept an
// unsigned file as signed.
func (x *subject) verify(t *testing.T) {
	m := x.openBytes(t, x.file)
	defer m.Close()
	var done, total int64
	progress := func(n, all int64, _ string) { done, total = n, all }
	if err := x.verified(m, &format.VerifyOptions{Progress: progress}); err != nil {
		t.Errorf("with a progress report: %v", err)
	}
	if x.verifyErr == nil && done != total {
		t.Errorf("progress ends at %d of %d", done, total)
	}
	if err := x.verified(m, &format.VerifyOptions{Workers: 3, Tensors: tensorNames(m)}); err != nil {
		t.Errorf("Verify of all tensors by name: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Verify(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify with a canceled context = %v", err)
	}
	x.trust(t, m)
	if x.verifyErr != nil {
		return
	}
	all, err := format.OpenBytes(x.file, x.checking(format.CheckAll).With(x.cfg.Format))
	expect.OK(t, err)
	all.Close()
}

// trust checks that only a signature by the trusted key is reported as trusted.
func (x *subject) trust(t *testing.T, m *format.Model) {
	key, _, _ := ed25519.GenerateKey(nil)
	_, err := m.Verify(context.Background(), &format.VerifyOptions{Trusted: format.TrustKey(key)})
	if !errors.Is(err, format.ErrSignature) && (x.verifyErr == nil || !errors.Is(err, x.verifyErr)) {
		t.Errorf("Verify with a key that signed nothing = %v", err)
	}
	c, err := m.Verify(context.Background(), nil)
	if err != nil {
		return
	}
	if signed := m.Signature() != nil; signed != (c.Signature() != format.Unsigned) || c.Signature() == format.SignatureTrusted {
		t.Errorf("without a trusted key, file signed: %v: the signature is reported as %v", signed, c.Signature())
	}
}

// tensorNames returns the names of an open model's tensors.
func tensorNames(m *format.Model) []string {
	var list []string
	for name := range m.Tensors() {
		list = append(list, name)
	}
	return list
}

// covered returns the tensors whose bytes in the file a checksum covers.
func (x *subject) covered(t *testing.T) []tensor.Info {
	if x.verifyErr != nil {
		t.Skip("the sample does not verify")
	}
	m := x.openBytes(t, x.file)
	defer m.Close()
	c, err := m.Verify(context.Background(), nil)
	expect.OK(t, err)
	var list []tensor.Info
	for part := range c.Tensors() {
		v, err := m.Tensor(part.Name)
		if info := v.Info(); err == nil && part.By != "" && info.Offset >= 0 && info.Stored > 0 {
			list = append(list, info)
		}
	}
	if len(list) == 0 {
		t.Skip("no sum covers the data of a tensor where that is in the file")
	}
	return list
}

// coveredData checks that a flipped bit is detected in each tensor that a checksum covers: by
// verification, also of the tensor alone, and with CheckTouch before the data is used.
func (x *subject) coveredData(t *testing.T) {
	touch := x.checking(format.CheckTouch)
	list := x.covered(t)
	x.opened(t, x.file, touch, func(m *format.Model) {
		for range 2 {
			x.differs(t, "the intact file with CheckTouch", m)
		}
	})
	for _, info := range list {
		for _, at := range []int64{info.Offset, info.Offset + info.Stored/2, info.Offset + info.Stored - 1} {
			noticed := func(what string, err error) {
				if err == nil {
					t.Errorf("%s does not notice a changed bit at %#x of tensor %q, which a checksum should cover", what, at, info.Name)
				} else {
					x.checkErr(t, what, err)
				}
			}
			b := slices.Clone(x.file)
			b[at] ^= 1 << (at % 8)
			x.opened(t, b, x.s.Options, func(m *format.Model) {
				_, err := m.Verify(context.Background(), nil)
				noticed("Verify", err)
				_, err = m.Verify(context.Background(), &format.VerifyOptions{Tensors: []string{info.Name}})
				noticed("Verify of it alone", err)
			})
			x.opened(t, b, touch, func(m *format.Model) {
				for _, what := range []string{"CheckTouch", "CheckTouch, at a second use,"} {
					v, err := m.Tensor(info.Name)
					if err == nil {
						_, err = v.Bytes()
					}
					noticed(what, err)
				}
			})
		}
	}
}

// opened calls f with the model in b, if it opens.
func (x *subject) opened(t *testing.T, b []byte, o *format.Options, f func(*format.Model)) {
	m, err := format.OpenBytes(b, o.With(x.cfg.Format))
	if err != nil {
		x.checkErr(t, "open", err)
		return
	}
	defer m.Close()
	f(m)
}
