package load

import (
	"crypto"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
)

// authenticate checks that the file, as it was parsed, is signed by the trusted key. What the
// parser has read is hashed from memory, the rest from the file.
func (m *Model) authenticate(o *driver.Options) error {
	v := newVerification(m, o.Context, &VerifyOptions{Trusted: o.Trusted, Progress: o.Progress, Workers: o.Workers})
	if r := m.spaces.record; r != nil {
		return explain(r.check(v), m.desc.Name, m.path)
	}
	if err := m.checkTrusted(o.Trusted, m.parsed.Authenticate != nil); err != nil {
		return err
	}
	return explain(m.guard(func() error { return m.parsed.Authenticate(v) }), m.desc.Name, m.path)
}

// checkTrusted returns an error if key is not a public key, or if the format has no signatures.
// All public keys of package crypto have this Equal method; private keys do not. The format
// checks the type of key.
func (m *Model) checkTrusted(key crypto.PublicKey, signs bool) error {
	if _, public := key.(interface{ Equal(crypto.PublicKey) bool }); !public {
		return m.errorf("signature", -1, fmt.Errorf("%w: %w", driver.ErrKey, driver.ErrSignature), "the trusted key is no public key, but a %T", key)
	}
	if !signs {
		return m.errorf("signature", -1, driver.ErrSignature, "the format has no signatures")
	}
	return nil
}
