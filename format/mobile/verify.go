package mobile

import (
	"context"
	"crypto"
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format"
)

// Canceler ends Verify, VerifySigned and opening (Options.Canceler) from any thread,
// the main thread included. One Canceler may end several of them. NewCanceler makes one that works;
// an empty Canceler does nothing.
type Canceler struct {
	ctx  context.Context
	done context.CancelFunc
}

// NewCanceler returns a Canceler that has not been used.
func NewCanceler() *Canceler {
	ctx, done := context.WithCancel(context.Background())
	return &Canceler{ctx, done}
}

// Cancel returns at once. Calls with this Canceler that are running, or start later, fail
// with CodeCanceled. A second Cancel does nothing.
func (c *Canceler) Cancel() {
	if c != nil && c.done != nil {
		c.done()
	}
}

// context works on nil and on an empty Canceler, which never cancel.
func (c *Canceler) context() context.Context {
	if c == nil || c.ctx == nil {
		return context.Background()
	}
	return c.ctx
}

func (c *Canceler) canceled() bool { return c.context().Err() != nil }

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
// and reports what no checksum covers. A signature that the key in the file did not make is
// CodeSignature. It reads the whole file: call it off the
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
	o := &format.VerifyOptions{}
	if trusted != nil {
		o.Trusted = format.TrustKey(trusted)
	}
	ctx, cancel := context.WithCancel(canceler.context())
	defer cancel()
	defer context.AfterFunc(m.closing.context(), cancel)()
	if progress != nil {
		o.Progress = func(done, total int64, tensor string) {
			if ctx.Err() == nil && !progress.OnProgress(done, total, m.names.of(tensor)) {
				cancel()
			}
		}
	}
	c, err := m.m.Verify(ctx, o)
	ended := err == nil || errors.Is(err, context.Canceled)
	switch {
	case ended && m.closing.canceled():
		return nil, m.fail("model", format.ErrClosed)
	case ended && ctx.Err() != nil:
		return nil, m.fail("verification", errCanceled)
	case err != nil:
		return nil, err
	}
	return newReport(m, c, trusted), nil
}

// Results of Report.Signature.
const (
	SignatureNone      = "unsigned"    // the file carries no signature
	SignatureUnchecked = "not checked" // the key in the file, if there is one, signed it, and Verify does not judge the key
	SignatureTrusted   = "trusted"     // signed with the key given to VerifySigned
)

// Report is the result of a successful verification: what checksums and which signature
// the file carries. It stays readable after Close. Verify and VerifySigned return
// reports; one that the app makes itself covers nothing.
type Report struct {
	c         *format.Coverage // nil in an empty report
	sums      map[string]string
	uncovered []string
	signer    string
}

// newReport copies what the methods look up.
func newReport(m *Model, c *format.Coverage, trusted crypto.PublicKey) *Report {
	r := &Report{c: c, sums: map[string]string{}}
	for t := range c.Tensors() {
		name := m.names.of(t.Name)
		r.sums[name] = t.By
		v, err := m.m.Tensor(t.Name)
		if err == nil && t.By == "" && v.Size() > 0 {
			r.uncovered = append(r.uncovered, name)
		}
	}
	signer := trusted
	if s := m.m.Signature(); trusted == nil && s != nil {
		signer = s.PublicKey
	}
	r.signer = fingerprint(signer)
	return r
}

// String returns a line for people: "ok", or "ok, but nothing covers the data of
// 15 tensors".
func (r *Report) String() string { return r.c.String() }

// Covered reports whether checksums cover everything that was verified.
func (r *Report) Covered() bool { return r.String() == "ok" }

// UncoveredCount returns the number of tensors whose data no checksum covers.
func (r *Report) UncoveredCount() int64 { return int64(len(r.uncovered)) }

// Uncovered returns the name of one of them. It is empty for an index that does not
// exist.
func (r *Report) Uncovered(index int64) string { return at(r.uncovered, index) }

// ChecksumOf returns the kind of checksum that covers the data of a tensor, such
// as "xxh64". It is empty when there is none, or no such tensor.
func (r *Report) ChecksumOf(tensor string) string { return r.sums[tensor] }

// Signature returns SignatureNone, SignatureUnchecked or SignatureTrusted.
func (r *Report) Signature() string { return r.c.Signature().String() }

// Signer returns the fingerprint of the key that the file was signed with,
// "SHA256:..." over its PKIX form. It is empty for an unsigned file and for one that does
// not name its key. Anybody can sign: trust it only when Signature returns
// SignatureTrusted.
func (r *Report) Signer() string { return r.signer }
