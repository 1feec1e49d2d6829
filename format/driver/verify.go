package driver

import (
	"context"
	"crypto"
	"io"
)

// Kind is a checksum algorithm with at most 64 bits.
type Kind uint8

// The checksums that formats use.
const (
	NoSum  Kind = iota // no checksum; the bytes are only read
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

// Sum is a checksum that a file records.
type Sum struct {
	Kind Kind
	Want uint64
	// Field and Offset locate the checksum in the file, for errors. If Field is
	// empty, errors locate the tensor instead.
	Field  string
	Offset int64
}

// Verification is a running verification. The engine implements it so that
// hashing, workers, progress, cancellation and guards are the same for all formats.
// Its methods are safe for concurrent use, except Section and Signed.
type Verification interface {
	// Context returns the caller's context.
	Context() context.Context
	// Trusted returns the caller's public key, nil for none. The engine rejects values that
	// are not public keys, and all keys for a format without Authenticate. The format returns
	// ErrKey for an empty key, and ErrSignature for a type of key that cannot sign its files.
	Trusted() crypto.PublicKey
	// All reports whether to verify every tensor, and Wanted whether to verify tensor i.
	All() bool
	Wanted(i int) bool
	// Expect announces n more bytes of work, for progress reports. The total must
	// not change once bytes are counted as done. The engine announces the tensors that
	// Parsed.Verify leaves to it when that returns, so a Verify that leaves any must
	// not count bytes.
	Expect(n int64)
	// Done counts n bytes of the named part as done.
	Done(n int64, part string)
	// Each calls f for 0 <= i < n on the workers, each call under a guard. It
	// returns the error of the lowest index that failed.
	Each(n int, f func(i int) error) error
	// Hash returns the checksum of size bytes at off of a space and counts them as
	// done. It reads a few megabytes at a time. If checksums of the kind can be
	// combined, it uses all workers. Without a part it counts nothing: for bytes that were
	// counted before, in files that may have one of several checksums, and for records
	// before the tensors.
	Hash(kind Kind, s Space, off, size int64, part string) (uint64, error)
	// Feed writes size bytes at off of a space to h, in order, and counts them as
	// done. It is for hashes that are not a Kind, such as SHA-256.
	Feed(h io.Writer, s Space, off, size int64, part string) error
	// Unchanged checks that the structure that Parse read has not changed in the files.
	// Every verification ends with it. Touch calls it after a checksum matches, since the
	// tensors must still be where Parse found them.
	Unchanged() error
	// Section records that a checksum covers a section of the file other than a
	// tensor: by is its kind, such as "crc32", or "" if the section has no checksum.
	Section(name, by string)
	// Cover records that the data of tensor i was verified by the named checksum, such as
	// "adler32 of the file". With an empty name, no checksum covers the data, but it
	// exists. The engine does not check the tensor again.
	Cover(i int, by string)
	// CoverAll calls Cover for every wanted tensor that is not covered yet.
	CoverAll(by string)
	// Signed records the state of the signature.
	Signed(s SignatureState)
}

// SignatureState is the result of checking a signature.
type SignatureState uint8

const (
	Unsigned         SignatureState = iota // the file has no signature
	SignatureUnknown                       // the key in the file, if there is one, signed it, but no trusted key was given
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
