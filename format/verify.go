package format

import (
	"context"
	"crypto"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// VerifyOption is an option of Model.Verify. The zero VerifyOption changes nothing.
type VerifyOption struct{ set func(*verifyOptions) }

// WithProgress sets a function that is called with the progress of a verification, from changing goroutines but never
// concurrently. It must not close the model, since Close waits for the verification; it may cancel its context.
func WithProgress(p Progress) VerifyOption {
	return VerifyOption{func(o *verifyOptions) { o.Progress = p }}
}

// WithTrustedKey requires a valid signature by this key: an ed25519.PublicKey, *rsa.PublicKey or
// *ecdsa.PublicKey. An unsigned file is ErrSignature, also if its format has no signatures. A nil key is ErrKey.
func WithTrustedKey(key crypto.PublicKey) VerifyOption {
	if key == nil {
		key = noKey{}
	}
	return VerifyOption{func(o *verifyOptions) { o.Trusted = key }}
}

// noKey stands for a nil key, which no signature matches.
type noKey struct{}

// WithTensors limits the verification of data to the named tensors, as far as the format's checksums
// allow. The structure is verified in any case. A name that no tensor has is ErrNotFound.
func WithTensors(names ...string) VerifyOption {
	return VerifyOption{func(o *verifyOptions) { o.Tensors = append(o.Tensors, names...) }}
}

// WithWorkers sets the number of goroutines that hash, at most 256; 0 means one for each CPU. A
// negative number is ErrOption.
func WithWorkers(n int) VerifyOption {
	return VerifyOption{func(o *verifyOptions) { o.Workers = n }}
}

func newVerifyOptions(opts []VerifyOption) (*verifyOptions, error) {
	o := &verifyOptions{}
	for _, f := range opts {
		if f.set != nil {
			f.set(o)
		}
	}
	if _, none := o.Trusted.(noKey); none {
		return nil, &tensor.Error{Field: "WithTrustedKey", Offset: -1, Err: fmt.Errorf("%w: %w: it is nil", ErrKey, ErrSignature)}
	}
	if o.Workers < 0 {
		return nil, driver.OptionError("", "WithWorkers", "%d", o.Workers)
	}
	return o, nil
}

// Verify computes every checksum of the file, checks that all data is present and that the structure did not
// change since it was read, and returns which checksum covers what. With a trusted key (WithTrustedKey) the file must be
// signed by it; without one, a signature must be one that the key in the file made, if there is a key. If no tensor was requested before, the pages that Verify reads are evicted again.
//
// Files that caches name by their digests, and targets of links with such names, are hashed and compared too, unless
// WithTensors selects tensors: sha256-HEX (Ollama), and in a directory blobs 64 hex digits (SHA-256) or 40 (SHA-1 of a
// blob of git). Elsewhere 64 hex digits in a name are compared, and a note says if they match. The formats that
// such caches have link both hashes; in a program without them a note says that the digest was not compared.
//
// Errors wrap ErrChecksum, ErrTruncated, ErrCorrupt, ErrSignature, ErrKey (encrypted data without
// its key), ErrNotFound (a name in WithTensors), ErrClosed, or the error of the context.
func (m *Model) Verify(ctx context.Context, opts ...VerifyOption) (*Coverage, error) {
	o, err := newVerifyOptions(opts)
	if err != nil {
		return nil, err
	}
	return m.opened().verify(ctx, o)
}

// Coverage lists what a verification checked, and by which checksum: a format may have no checksums, or for
// some parts only. The zero Coverage covers nothing.
type Coverage struct {
	sections  []Covered
	signature SignatureState
	tensors   []string // by tensor: the checksum that covers it, or notLooked
	uncovered []uncoveredRange
	index     *driver.Index // names the tensors; nil in the zero Coverage
}

// Covered names the checksum of a part of a file.
type Covered struct {
	Name string // of the section or tensor
	// By is the checksum: "xxh64", "crc32 of the weights", "adler32 of the file". It is empty if the
	// bytes are present and the file has no checksum for them.
	By string
}

// Sections returns the parts of the file that are not tensors, such as "header".
func (c *Coverage) Sections() []Covered { return slices.Clone(c.get().sections) }

// Tensors iterates over the verified tensors in file order, without those that WithTensors left out.
func (c *Coverage) Tensors() iter.Seq[Covered] {
	return func(yield func(Covered) bool) {
		for i, by := range c.get().tensors {
			if by != notLooked && !yield(Covered{Name: c.index.Name(i), By: by}) {
				return
			}
		}
	}
}

// FileRange is a range of a file of a model.
type FileRange struct {
	File         int // index of Model.Files
	Offset, Size int64
	// Part is what has the bytes: `tensor "w"`, "header", or "" for what is between the parts, such as padding.
	Part string
}

// Uncovered iterates over the bytes that no checksum in the files covers, in the order of the files: whatever is changed
// in other bytes, verification reports. It does not depend on WithTensors.
func (c *Coverage) Uncovered() iter.Seq[FileRange] {
	return func(yield func(FileRange) bool) {
		for _, r := range c.get().uncovered {
			if r.Tensor >= 0 {
				r.Part = fmt.Sprintf("tensor %q", c.index.Name(r.Tensor))
			}
			if !yield(FileRange{File: r.File, Offset: r.Offset, Size: r.Size, Part: r.Part}) {
				return
			}
		}
	}
}

// uncoveredTensors returns the number of verified tensors whose data no checksum covers. Empty tensors do not count.
func (c *Coverage) uncoveredTensors() int {
	n := 0
	for i, by := range c.get().tensors {
		if by == "" && c.index.Size(i) > 0 {
			n++
		}
	}
	return n
}

// Signature returns the result of checking the signature.
func (c *Coverage) Signature() SignatureState { return c.get().signature }

// get returns c, or the zero Coverage for nil.
func (c *Coverage) get() *Coverage {
	if c == nil {
		return &Coverage{}
	}
	return c
}

// String summarizes the coverage: "ok", "ok, but nothing covers the data of 15 tensors", or "ok, but
// nothing covers the header, the graph or the data of 1 tensor". The zero Coverage is "not verified".
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
	switch n := c.uncoveredTensors(); {
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
