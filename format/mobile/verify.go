package mobile

import (
	"context"
	"crypto"
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format"
)

// Progress watches a verification. The app implements it.
type Progress interface {
	// OnProgress receives the number of bytes verified so far, their total, and the
	// tensor or section that is being verified. Returning false cancels. It is called on
	// a thread of the library, one call at a time; it must not throw, and must
	// not close the model.
	OnProgress(done, total int64, tensor string) bool
}

// Without a format that has signatures, signed.go is left out: code that parses keys takes half a
// megabyte.
var (
	parseKey = func([]byte) (crypto.PublicKey, error) {
		return nil, fmt.Errorf("%w: no format in this app has signatures", format.ErrSignature)
	}
	fingerprint = func(crypto.PublicKey) string { return "" }
)

var errCanceled = errors.New("canceled")

// Verify checks every checksum the file carries and that all its data is there,
// and reports what no checksum covers. It reads the whole file: call it off the
// main thread. It ends early with CodeCanceled when canceler or progress says so, and with
// CodeClosed when the model is closed. progress and canceler may be null.
func (m *Model) Verify(progress Progress, canceler *Canceler) (*Report, error) {
	return m.verify(progress, canceler, nil)
}

// VerifySigned is Verify, and also demands a valid signature by the given key: a
// PKIX public key (Ed25519, RSA, ECDSA), DER or PEM. It fails for unsigned files, for
// formats without signatures, and for every file if only such formats are linked.
func (m *Model) VerifySigned(publicKey []byte, progress Progress, canceler *Canceler) (*Report, error) {
	key, err := parseKey(publicKey)
	if err != nil {
		return nil, m.fail("trusted key", err)
	}
	return m.verify(progress, canceler, key)
}

// verify trusts nobody without a key.
func (m *Model) verify(progress Progress, canceler *Canceler, trusted crypto.PublicKey) (*Report, error) {
	var opts []format.VerifyOption
	if trusted != nil {
		opts = append(opts, format.WithTrustedKey(trusted))
	}
	ctx, cancel := context.WithCancel(canceler.context())
	defer cancel()
	defer context.AfterFunc(m.closing.context(), cancel)()
	if progress != nil {
		opts = append(opts, format.WithProgress(func(done, total int64, tensor string) {
			if ctx.Err() == nil && !progress.OnProgress(done, total, m.names.of(tensor)) {
				cancel()
			}
		}))
	}
	c, err := m.m.Verify(ctx, opts...)
	ended := err == nil || errors.Is(err, context.Canceled)
	switch {
	case ended && m.closed.Load():
		return nil, m.fail("model", format.ErrClosed)
	case ended && ctx.Err() != nil:
		return nil, m.fail("verification", errCanceled)
	case err != nil:
		return nil, err
	}
	return newReport(m, c, trusted), nil
}
