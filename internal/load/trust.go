package load

import (
	"crypto"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
)

// authenticate demands that the file was signed by a key, as it was parsed: what the
// parser read is hashed from memory, the rest from the file.
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

// checkTrusted refuses what is no public key, and any key for a format that does not sign. All
// public keys of package crypto have this Equal, private ones another; which kinds
// can have signed a file is the format's to say.
func (m *Model) checkTrusted(key crypto.PublicKey, signs bool) error {
	if _, public := key.(interface{ Equal(crypto.PublicKey) bool }); !public {
		return m.errorf("signature", -1, fmt.Errorf("%w: %w", driver.ErrKey, driver.ErrSignature), "the trusted key is no public key, but a %T", key)
	}
	if !signs {
		return m.errorf("signature", -1, driver.ErrSignature, "the format has no signatures")
	}
	return nil
}
