package driver

import (
	"context"
	"crypto"
	"io"
)

// Kind is an algorithm for sums of at most 64 bits.
type Kind uint8

// The sums that formats use.
const (
	NoSum  Kind = iota // nothing is computed: the bytes are read, no more
	XXH64              // seed 0
	CRC32              // IEEE
	CRC32C             // Castagnoli
	Adler32
)

// String returns "xxh64", "crc32", "crc32c", "adler32" or "".
func (k Kind) String() string {
	names := [...]string{"", "xxh64", "crc32", "crc32c", "adler32"}
	if int(k) >= len(names) {
		return ""
	}
	return names[k]
}

// Sum is what a file says a sum of some bytes should be.
type Sum struct {
	Kind Kind
	Want uint64
	// Field and Offset say where the file keeps the value; with no Field the error
	// names the tensor that does not fit, and its offset.
	Field  string
	Offset int64
}

// Verification is a verification at work. The engine makes it; a Verifier
// uses it so that hashing, workers, progress, cancellation and guards are the same
// for all formats. Its methods are safe for concurrent use.
type Verification interface {
	// Context is done when the caller gave up.
	Context() context.Context
	// Trusted returns the caller's public key, nil for none. The engine refuses what is no
	// public key, and any for a File that has no Signature. One of a kind that
	// the format knows and that holds nothing is ErrKey, and one of a kind that signs
	// no such file ErrSignature.
	Trusted() crypto.PublicKey
	// All reports whether every tensor is to be verified, Wanted whether tensor i is.
	All() bool
	Wanted(i int) bool
	// Expect announces n more bytes of work, for progress reports. The total must
	// not change once something was counted, and the tensors that a Verifier
	// leaves to the engine are announced when it returned: one that leaves any
	// counts nothing itself.
	Expect(n int64)
	// Done counts n bytes of the named part.
	Done(n int64, part string)
	// Each calls f for 0 <= i < n on the workers, each call under a guard. It
	// returns the error of the lowest index that failed.
	Each(n int, f func(i int) error) error
	// Hash returns the sum of size bytes at off of a space, reads no more at a
	// time than a few megabytes, and counts the bytes as done. Kinds that
	// combine are computed on all workers.
	Hash(kind Kind, s Space, off, size int64, part string) (uint64, error)
	// Rehash is Hash without progress: of bytes that were counted before, in files
	// that may carry one of several sums, and of records before the tensors.
	Rehash(kind Kind, s Space, off, size int64) (uint64, error)
	// Feed writes size bytes at off of a space to h, in order, and counts them as
	// done. It is for sums that are not a Kind, such as SHA-256.
	Feed(h io.Writer, s Space, off, size int64, part string) error
	// Unchanged compares what Parse read of the files with what they are now, as every
	// verification does in the end. Touch calls it once a checksum fits: the tensors must
	// still be where Parse found them.
	Unchanged() error
	// Section records that a checksum covers a section of the file that is not
	// a tensor's: by is "crc32", "" when the file carries no sum for it.
	Section(name, by string)
	// Cover records that the data of tensor i was checked by a checksum; by
	// says which, "adler32 of the file". With an empty by nothing covers it, but it
	// exists. The engine does not look at the tensor any more.
	Cover(i int, by string)
	// CoverAll is Cover for every tensor that is to be verified and that nothing
	// covers yet.
	CoverAll(by string)
	// Signed records what is known of the signature.
	Signed(s SignatureState)
}

// SignatureState is the result of checking a signature.
type SignatureState uint8

const (
	Unsigned         SignatureState = iota // the file has no signature
	SignatureUnknown                       // the file is signed, but no trusted key was given
	SignatureTrusted                       // the signature by the trusted key is valid
)

// String returns "unsigned", "not checked" or "trusted".
func (s SignatureState) String() string {
	switch s {
	case SignatureUnknown:
		return "not checked"
	case SignatureTrusted:
		return "trusted"
	}
	return "unsigned"
}
