package format

import (
	"crypto"
	"fmt"
	"iter"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/load"
)

// VerifyOption changes how Model.Verify works. The zero VerifyOption changes nothing.
type VerifyOption struct{ set func(*load.VerifyOptions) }

// WithProgress reports the progress of a verification, by one goroutine at a time, which is any. p must
// not close the model, which waits for the verification; it may end that by its context.
func WithProgress(p Progress) VerifyOption {
	return VerifyOption{func(o *load.VerifyOptions) { o.Progress = p }}
}

// WithTrustedKey demands a valid signature by this key: ed25519.PublicKey,
// *rsa.PublicKey or *ecdsa.PublicKey. Unsigned files then fail with ErrSignature,
// those of formats without signatures too. A key that is nil is ErrKey: it may be one
// that was not found.
func WithTrustedKey(key crypto.PublicKey) VerifyOption {
	if key == nil {
		key = noKey{}
	}
	return VerifyOption{func(o *load.VerifyOptions) { o.Trusted = key }}
}

// noKey is the key of who demands a signature and has none.
type noKey struct{}

// WithTensors limits the verification of data to these tensors, as far as the
// format's checksums allow; the structural part is still checked.
// A name that no tensor has is ErrNotFound.
func WithTensors(names ...string) VerifyOption {
	return VerifyOption{func(o *load.VerifyOptions) { o.Tensors = append(o.Tensors, names...) }}
}

// WithWorkers sets how many goroutines hash; 0 means one a CPU, fewer are ErrOption, and more
// than 256 are as many.
func WithWorkers(n int) VerifyOption {
	return VerifyOption{func(o *load.VerifyOptions) { o.Workers = n }}
}

// noVerifyOptions is what calls without options share. Nothing writes to it.
var noVerifyOptions load.VerifyOptions

func verifyOptions(opts []VerifyOption) (*load.VerifyOptions, error) {
	if len(opts) == 0 {
		return &noVerifyOptions, nil
	}
	o := &load.VerifyOptions{}
	for _, f := range opts {
		if f.set != nil {
			f.set(o)
		}
	}
	if _, none := o.Trusted.(noKey); none {
		return nil, &Error{Field: "WithTrustedKey", Offset: -1, Err: fmt.Errorf("%w: %w: it is nil", ErrKey, ErrSignature)}
	}
	if o.Workers < 0 {
		return nil, optionError("WithWorkers", int64(o.Workers))
	}
	return o, nil
}

// Coverage says what a verification checked, and by which sum. "Verified" does not
// mean the same for every file: a format may carry no sums, or only for a part.
// The zero Coverage covers nothing.
type Coverage struct {
	c     load.Coverage
	index *driver.Index // names the tensors of c; nil in the zero Coverage
}

// Covered names the checksum of a part of a file.
type Covered struct {
	Name string // of the section or tensor
	// By names the sum: "xxh64", "crc32 of the weights", "adler32 of the file".
	// It is empty when the bytes are there and the file carries no sum for them.
	By string
}

// Sections returns the parts of the file that are not tensors, such as "header".
func (c *Coverage) Sections() []Covered {
	if c == nil || c.index == nil {
		return nil
	}
	out := make([]Covered, len(c.c.Sections))
	for i, s := range c.c.Sections {
		out[i] = Covered(s)
	}
	return out
}

// Tensors walks the tensors that were verified, in file order; those that
// WithTensors left out are not among them.
func (c *Coverage) Tensors() iter.Seq[Covered] {
	return func(yield func(Covered) bool) {
		if c == nil {
			return
		}
		for i, by := range c.c.Tensors {
			if by != load.NotLooked && !yield(Covered{c.index.Name(i), c.c.By[by]}) {
				return
			}
		}
	}
}

// Uncovered returns the names of the verified tensors whose data no sum covers.
// Tensors without bytes are not among them.
func (c *Coverage) Uncovered() []string {
	var names []string
	if c == nil {
		return nil
	}
	for i, by := range c.c.Tensors {
		if by != load.NotLooked && c.c.By[by] == "" && c.index.Size(i) > 0 {
			names = append(names, c.index.Name(i))
		}
	}
	return names
}

// Signature says what is known of the signature.
func (c *Coverage) Signature() SignatureState {
	if c == nil {
		return Unsigned
	}
	return c.c.Signature
}

// String says in a few words what is left in doubt: "ok",
// "ok, but nothing covers the data of 15 tensors", or
// "ok, but nothing covers the header, the graph or the data of 1 tensor"; of the zero
// Coverage, which comes with an error, "not verified".
func (c *Coverage) String() string {
	if c == nil || c.index == nil {
		return "not verified"
	}
	var bare []string
	for _, s := range c.Sections() {
		if s.By == "" {
			bare = append(bare, "the "+s.Name)
		}
	}
	switch n := len(c.Uncovered()); {
	case n == 1:
		bare = append(bare, "the data of 1 tensor")
	case n > 1:
		bare = append(bare, fmt.Sprintf("the data of %d tensors", n))
	}
	last := len(bare) - 1
	switch {
	case last < 0:
		return "ok"
	case last > 0:
		bare = []string{strings.Join(bare[:last], ", "), bare[last]}
	}
	return "ok, but nothing covers " + strings.Join(bare, " or ")
}
