package format

import (
	"context"
	"crypto"
)

// TrustKey trusts files with a signature in the file (mle, wia) by this key: an ed25519.PublicKey, *rsa.PublicKey or
// *ecdsa.PublicKey. A nil key, or one of another type, is ErrKey. External data must have a checksum in the signed
// part of the file.
func TrustKey(key crypto.PublicKey) Trust { return trustKey{key} }

type trustKey struct{ key crypto.PublicKey }

// Check implements Trust.
func (t trustKey) Check(_ context.Context, u *Unverified) error { return u.CheckSignature(t.key) }
