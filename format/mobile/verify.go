package mobile

import (
	"context"
	"crypto"
	"errors"

	"github.com/weightmap/weightmap/format"
)

// Progress is implemented by the app to watch a verification, and to end it.
type Progress interface {
	// OnProgress is told now and then how many bytes are done, of how many, and
	// which tensor or section is at work. Returning false cancels. It is called on
	// a thread of the library, never twice at once; it must not throw, and must
	// not close the model.
	OnProgress(done, total int64, tensor string) bool
}

var errCanceled = errors.New("canceled")

// Verify checks every checksum the file carries and that all its data is there,
// and reports what no checksum covers. It reads the whole file: call it off the
// main thread. progress may be null.
func (m *Model) Verify(progress Progress) (*Report, error) {
	return m.verify(progress, nil)
}

// VerifySigned is Verify, and demands a valid signature by the given key, which
// is a PKIX public key (Ed25519, RSA, ECDSA), DER or PEM. Unsigned files fail,
// those of formats without signatures too, and all where only such formats are bound.
func (m *Model) VerifySigned(publicKey []byte, progress Progress) (*Report, error) {
	key, err := parseKey(publicKey)
	if err != nil {
		return nil, m.fail("trusted key", err)
	}
	return m.verify(progress, key)
}

// verify trusts nobody without a key.
func (m *Model) verify(progress Progress, trusted crypto.PublicKey) (*Report, error) {
	open, err := m.open()
	if err != nil {
		return nil, err
	}
	var opts []format.VerifyOption
	if trusted != nil {
		opts = append(opts, format.WithTrustedKey(trusted))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if progress != nil {
		opts = append(opts, format.WithProgress(func(done, total int64, tensor string) {
			if ctx.Err() == nil && !progress.OnProgress(done, total, tensor) {
				cancel()
			}
		}))
	}
	c, err := open.Verify(ctx, opts...)
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return nil, m.fail("verification", errCanceled)
	}
	if err != nil {
		return nil, err
	}
	return newReport(open, c, trusted), nil
}
