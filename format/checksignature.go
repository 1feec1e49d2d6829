package format

import (
	"context"
	"crypto"
	"errors"

	"github.com/weightmap/weightmap/tensor"
)

// CheckSignature checks the signature in the file, over all that it covers: whether key made it or,
// if key is nil, the key in the file, which says nothing about who signed. Verify compares
// checksums too, and a wrong signature is its error. The error of CheckSignature is for a check
// that could not be completed, and ErrKey for what is no public key.
func (m *Model) CheckSignature(ctx context.Context, key crypto.PublicKey) (SignatureState, error) {
	m = m.opened()
	if key != nil {
		err := checkPublic(key)
		if err != nil {
			return Unsigned, err
		}
	}
	state, err := m.stateOf(ctx, nil)
	if key == nil || state != SignatureUnknown {
		return state, err
	}
	own, ok := m.parsed.Signature.PublicKey.(publicKey)
	if ok { // and that key has signed
		if own.Equal(key) {
			return SignatureTrusted, nil
		}
		return SignatureUnknown, nil
	}
	state, err = m.stateOf(ctx, key)
	if state == SignatureBad { // it is good, and by another key
		return SignatureUnknown, err
	}
	return state, err
}

// stateOf returns the state of the signature for a trusted key.
func (m *Model) stateOf(ctx context.Context, key crypto.PublicKey) (SignatureState, error) {
	v := newVerification(m, ctx, &VerifyOptions{})
	defer v.pass.Close()
	v.key = key
	err := m.within(func() error {
		if m.parsed.Signature == nil || m.parsed.Authenticate == nil {
			return nil
		}
		return m.parsed.Authenticate(v)
	})
	if errors.Is(err, tensor.ErrSignature) || errors.Is(err, tensor.ErrCorrupt) {
		return SignatureBad, nil
	}
	return v.coverage.signature, err
}
