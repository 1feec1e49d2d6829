package driver

import (
	"context"
	"crypto"
	"hash"
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

// Hash is a checksum algorithm that is not a Kind, such as SHA-256. The format brings it, so that a
// program links it only with the format.
type Hash struct {
	Name string           // "sha256"
	New  func() hash.Hash // sha256.New
}

// Digest is a checksum as a file records it.
type Digest struct {
	Kind Kind   // of the checksum; NoSum if Hash is set, or if there is none
	Want uint64 // the checksum that the file records
	// Hash, if not nil, is used in place of Kind.
	Hash *Hash
	// Bytes is the digest that the file records, in place of Want.
	Bytes []byte
	// Field is the name of the field with the checksum, for errors. If it is empty, errors locate
	// what it covers instead.
	Field  string
	Offset int64 // of that field
	Space  Space // the file with that field
}

// Name returns the name of the algorithm, such as "crc32".
func (d *Digest) Name() string {
	if d.Hash != nil {
		return d.Hash.Name
	}
	return d.Kind.String()
}

// Range is a range of a file.
type Range struct {
	Space        Space // the file
	Offset, Size int64 // in bytes
}

// Sum is the checksum of a part of a file, or such a part without a checksum. A format declares its
// sums in Parsed.Sums. The engine compares them when the model is opened (Source.Compare), before
// the first use of the tensors that they cover, and in Verify.
type Sum struct {
	// Name is that of the part, in errors and in the Coverage: "header".
	Name string
	// Accept lists the digests that the file may record: it is intact if one of them is right. If
	// there is none, and no Check, the part has no checksum.
	Accept []Digest
	// Ranges are the bytes of the part, in the order in which they are hashed, and Zeroed those of
	// them that count as zeros, such as the place of the digest. A part without Ranges is all that
	// no other part and no tensor has.
	Ranges, Zeroed []Range
	// Content, if not nil, means that the digest, of which there is one, is of the decoded content
	// of Ranges, such as that of a compressed entry. It decodes Size bytes, counts them as done,
	// and returns their checksum.
	Content func(v Verification) (uint64, error)
	Size    int64 // of what Content or Check counts
	// Or is another form of the same part, of other ranges or another content, that the file may
	// have instead.
	Or *Sum
	// Check is in place of Accept for what that cannot express, such as decryption.
	Check func(v Verification) error
	// By is what the Coverage says of tensors, and of parts without a checksum, that the sum
	// covers. It is required with Check; else "" means the algorithm and the part: "crc32 of the
	// weights".
	By string
	// Structure means that it is compared in every verification, even if none of the tensors that
	// it covers is wanted.
	Structure bool
	// All means that it is compared only if all tensors are verified, as others cover single ones.
	All bool
	// Hidden means that the Coverage does not list the part, but only the tensors and parts that it
	// covers.
	Hidden bool
}

// Verification is a running verification. The engine implements it so that
// hashing, workers, progress, cancellation and guards are the same for all formats.
// Its methods are safe for concurrent use, except Signed.
type Verification interface {
	// Context returns the caller's context.
	Context() context.Context
	// Trusted returns the caller's public key, nil for none. The engine rejects values that
	// are not public keys, and all keys for a format without Authenticate. The format returns
	// ErrKey for an empty key, and ErrSignature for a type of key that cannot sign its files.
	Trusted() crypto.PublicKey
	// Wanted reports whether to verify tensor i.
	Wanted(i int) bool
	// Expect announces n more bytes of work, for progress reports. The total must not change once
	// bytes are counted as done. The engine announces the declared checksums and the tensors.
	Expect(n int64)
	// Done counts n bytes of the named part as done.
	Done(n int64, part string)
	// Each calls f for 0 <= i < n on the workers, each call under a guard. It
	// returns the error of the lowest index that failed.
	Each(n int, f func(i int) error) error
	// Deferred reports whether a file of the model is only opened when it is first used.
	// Authenticate leaves its data to the declared checksums, which the engine then compares before
	// first use.
	Deferred(s Space) bool
	// Hash returns the checksum of size bytes at off of a space and counts them as
	// done. It reads a few megabytes at a time. If checksums of the kind can be
	// combined, it uses all workers. Without a part it counts nothing: for bytes that were
	// counted before, in files that may have one of several checksums, and for records
	// before the tensors.
	Hash(kind Kind, s Space, off, size int64, part string) (uint64, error)
	// Feed writes size bytes at off of a space to h, in order, and counts them as
	// done. It is for hashes that are not a Kind, such as SHA-256.
	Feed(h io.Writer, s Space, off, size int64, part string) error
	// Compare compares Parsed.Sums[k] with the file, for Authenticate. It is not compared again
	// before the first use of the tensors that it covers.
	Compare(k int) error
	// Signed records that the file is signed, and whether by the key Trusted.
	Signed(byTrusted bool)
}
