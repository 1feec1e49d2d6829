package format

import (
	"context"
	"crypto"
	"io"
	"iter"

	"github.com/weightmap/weightmap/tensor"
)

// Model is an open model file of any format. Its methods are safe for
// concurrent use, Close included.
type Model interface {
	// Format returns the registered name, "mag".
	Format() string
	// Version returns the version of the format the file has, "1".
	Version() string
	// Metadata returns the file's key-value pairs in file order.
	Metadata() Metadata
	// Len returns the number of tensors that have data.
	Len() int
	// Tensor returns the tensor of that name.
	Tensor(name string) (tensor.View, bool)
	// Tensors walks the tensors in file order, which is that of their records.
	Tensors() iter.Seq2[string, tensor.View]
	// Verify checks every checksum the file carries and all its data.
	Verify(context.Context, ...VerifyOption) error
	// Pin holds the memory across Close: Close returns, but slices stay valid
	// until the last unpin. unpin may be called more than once.
	Pin() (unpin func(), err error)
	// Close forbids further access, waits for running View.Use calls, and
	// unmaps the file. A second Close does nothing.
	io.Closer
}

// Grapher is a Model with an operator graph: mobi, mle and wia.
type Grapher interface {
	// Graph returns the neutral form of the graph, nil when the file has none.
	Graph() (*Graph, error)
}

// Noter is a Model that noticed something tolerable about its file, such as
// "header checksum not recorded".
type Noter interface {
	Notes() []string
}

// Signer is a Model whose file may be signed.
type Signer interface {
	// Signature returns nil for an unsigned file. It says who claims to have
	// signed, not that the signature is valid: Verify does that.
	Signature() *Signature
}

// Encrypted is a Model whose file may be encrypted.
type Encrypted interface {
	// Locked reports whether data cannot be read for want of the key.
	Locked() bool
}

// Prefetcher is a Model that can ask the system to read its file ahead.
type Prefetcher interface {
	Prefetch() error
}

// Signature is what a signed file says of its signer.
type Signature struct {
	Algorithm string           // "Ed25519", "RSA-SHA256", "ECDSA"
	PublicKey crypto.PublicKey // the key the file names, nil when it names none
	Timestamp int64            // Unix seconds
}

// VerifyOptions is what VerifyOption functions set; formats read it.
type VerifyOptions struct {
	Progress Progress
	Trusted  crypto.PublicKey
	Tensors  []string
	Workers  int
}

// VerifyOption changes how Model.Verify works.
type VerifyOption func(*VerifyOptions)

// Progress is called now and then with the bytes done, the bytes there are,
// and the tensor (or section) at work. Calls do not overlap.
type Progress func(done, total int64, tensor string)

// WithProgress reports the progress of a verification.
func WithProgress(p Progress) VerifyOption { return func(o *VerifyOptions) { o.Progress = p } }

// WithTrustedKey demands a valid signature by this key: ed25519.PublicKey,
// *rsa.PublicKey or *ecdsa.PublicKey. Unsigned files then fail with ErrSignature,
// those of formats without signatures too.
func WithTrustedKey(key crypto.PublicKey) VerifyOption {
	return func(o *VerifyOptions) { o.Trusted = key }
}

// WithTensors limits the verification of data to these tensors, as far as the
// format's checksums allow; the structural part is checked all the same.
func WithTensors(names ...string) VerifyOption {
	return func(o *VerifyOptions) { o.Tensors = append(o.Tensors, names...) }
}

// WithWorkers sets how many goroutines hash; 0 means one a CPU.
func WithWorkers(n int) VerifyOption { return func(o *VerifyOptions) { o.Workers = n } }

// NewVerifyOptions applies opts to the defaults.
func NewVerifyOptions(opts []VerifyOption) *VerifyOptions {
	o := &VerifyOptions{}
	for _, f := range opts {
		f(o)
	}
	return o
}
