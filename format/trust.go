package format

import (
	"context"
	"crypto"
	"hash"

	"github.com/weightmap/weightmap/tensor"
)

// Trust says what the files of a model must be (Options.Trusted). It never sees weights: the engine
// hashes the files and compares them, with the hash that the Trust brings.
type Trust interface {
	// Check is called when a model is opened, before anything of it is used, and by Model.Verify
	// for an open model (VerifyOptions.Trusted). It requires digests of files (Require), a
	// signature in the file (CheckSignature), or both. A file that neither covers is refused with
	// ErrSignature, whether the model is opened with it or uses it later. If Check returns an
	// error, opening fails with it. Check may look at whatever else it wants, such as the identity
	// of a signer. It must not keep u.
	Check(ctx context.Context, u *Unverified) error
}

// TrustWatcher is a Trust with files next to the model, such as a signature, which package live
// watches.
type TrustWatcher interface {
	Trust
	// Paths returns the paths where such files may be, for the model at a path.
	Paths(model string) []string
}

// Digest is a signed digest of a range of a file, or of all of it.
type Digest struct {
	Offset, Size int64            // the range; Size -1 means the whole file
	New          func() hash.Hash // the hash, such as sha256.New
	Sum          []byte           // the result of the hash
}

// UnverifiedFile is a file of a model that is being opened.
type UnverifiedFile struct {
	// Name is relative to the directory of the model. It is "" for bytes, a reader without a name
	// (ReaderInfo.Path), and a part of a file.
	Name string
	Size int64 // in bytes
	Open bool  // it is open; others are opened later
}

// Unverified is a model that is being opened, and of which nothing was used yet. Its methods fail
// after Trust.Check has returned.
type Unverified struct{ model unverified }

// unverified is what an Unverified asks of the model that is opened.
type unverified interface {
	modelPath() string
	files() []UnverifiedFile
	readFile(name string) ([]byte, error)
	require(name string, digests ...Digest) error
	checkSignature(key crypto.PublicKey) error
}

func (u *Unverified) isOpen() bool { return u != nil && u.model != nil }

// Path returns the path that the model is opened by, "" for bytes, readers and file systems.
func (u *Unverified) Path() string {
	if !u.isOpen() {
		return ""
	}
	return u.model.modelPath()
}

// Files returns the files that are known before the model is parsed: the one that opens it. It is
// empty for a directory.
func (u *Unverified) Files() []UnverifiedFile {
	if !u.isOpen() {
		return nil
	}
	return u.model.files()
}

// ReadFile reads a file of at most 64 MiB next to the model, such as a signature, from where the
// model comes from: its directory, the file system or the reader (Sibling). The error wraps
// fs.ErrNotExist if there is none.
func (u *Unverified) ReadFile(name string) ([]byte, error) {
	if !u.isOpen() {
		return nil, tensor.ErrClosed
	}
	return u.model.readFile(name)
}

// Require permits the model to use the file of that name, if it has these digests; further calls
// add digests that must match too. The name is slash-separated and relative to the directory of the
// model. A file without a name must be one of those that were required, whatever its name is.
//
// All bytes of the file must be covered. Files are hashed before anything of them is used: local
// ones when the model is opened, those behind a reader when they are first opened. If ranges of at
// most 16 MiB cover a file behind a reader, each is compared when a byte of it is first used.
func (u *Unverified) Require(name string, digests ...Digest) error {
	if !u.isOpen() {
		return tensor.ErrClosed
	}
	return u.model.require(name, digests...)
}

// CheckSignature requires a signature in the file by this key: an ed25519.PublicKey, *rsa.PublicKey
// or *ecdsa.PublicKey. It is checked when the file was parsed in private memory, before anything of
// it is used. An error of CheckSignature only means that this is no public key.
func (u *Unverified) CheckSignature(key crypto.PublicKey) error {
	if !u.isOpen() {
		return tensor.ErrClosed
	}
	return u.model.checkSignature(key)
}

// TrustKey trusts files with a signature in the file (mle, wia) by this key: an ed25519.PublicKey,
// *rsa.PublicKey or *ecdsa.PublicKey. A nil key, or one of another type, is ErrKey. External data
// must have a checksum in the signed part of the file.
func TrustKey(key crypto.PublicKey) Trust { return trustKey{key} }

type trustKey struct{ key crypto.PublicKey }

// Check implements Trust.
func (t trustKey) Check(_ context.Context, u *Unverified) error { return u.CheckSignature(t.key) }
