package mobile

import (
	"crypto"
	"slices"

	"github.com/weightmap/weightmap/format"
)

// Results of Report.Signature.
const (
	SignatureNone      = "unsigned"    // the file carries no signature
	SignatureUnchecked = "not checked" // the file matches its signature, by a key that Verify does not judge
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
	for _, id := range c.Uncovered() {
		r.uncovered = append(r.uncovered, m.names.of(id))
	}
	for t := range c.Tensors() {
		r.sums[m.names.of(t.Name)] = t.By
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
func (r *Report) Covered() bool {
	bare := func(s format.Covered) bool { return s.By == "" }
	return r.c != nil && len(r.uncovered) == 0 && !slices.ContainsFunc(r.c.Sections(), bare)
}

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
