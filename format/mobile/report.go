package mobile

import (
	"crypto"

	"github.com/weightmap/weightmap/format"
)

// What Report.Signature may say.
const (
	SignatureNone      = "unsigned"    // the file carries no signature
	SignatureUnchecked = "not checked" // the file is what was signed, whoever signed it: Verify trusts nobody
	SignatureTrusted   = "trusted"     // signed with the key given to VerifySigned
)

// Report says what a verification found: nothing wrong, or there would be an
// error instead, but not every file carries a checksum for all its data. It stays
// readable after the model was closed. Reports are made by Verify and VerifySigned;
// one made otherwise covers nothing.
type Report struct {
	c         *format.Coverage // nil in an empty report
	sums      map[string]string
	uncovered []string
	signer    string
}

// newReport copies what is asked for by name or index.
func newReport(m *format.Model, c *format.Coverage, trusted crypto.PublicKey) *Report {
	r := &Report{c: c, sums: map[string]string{}, uncovered: c.Uncovered()}
	for t := range c.Tensors() {
		r.sums[t.Name] = t.By
	}
	signer := trusted
	if s := m.Signature(); trusted == nil && s != nil {
		signer = s.PublicKey
	}
	r.signer = fingerprint(signer)
	return r
}

// String says it in a line for people: "ok", or "ok, but nothing covers the data of
// 15 tensors".
func (r *Report) String() string {
	if r.c == nil {
		return ""
	}
	return r.c.String()
}

// Covered reports whether checksums cover everything that was verified.
func (r *Report) Covered() bool {
	if r.c == nil || len(r.uncovered) > 0 {
		return false
	}
	for _, s := range r.c.Sections() {
		if s.By == "" {
			return false
		}
	}
	return true
}

// UncoveredCount returns the number of tensors whose data no checksum covers.
func (r *Report) UncoveredCount() int64 { return int64(len(r.uncovered)) }

// Uncovered returns the name of one of them, and an empty text for an index that
// does not exist.
func (r *Report) Uncovered(index int64) string {
	if index < 0 || index >= r.UncoveredCount() {
		return ""
	}
	return r.uncovered[index]
}

// ChecksumOf returns the kind of checksum that covers the data of a tensor, such
// as "xxh64", and an empty text when there is none, or no such tensor.
func (r *Report) ChecksumOf(tensor string) string { return r.sums[tensor] }

// Signature returns SignatureNone, SignatureUnchecked or SignatureTrusted.
func (r *Report) Signature() string { return r.c.Signature().String() }

// Signer returns the fingerprint of the key that the file was signed with,
// "SHA256:..." over its PKIX form, and an empty text for an unsigned file and for
// one that does not name its key. Anybody can sign: believe it only when
// Signature returns SignatureTrusted.
func (r *Report) Signer() string { return r.signer }
