package format

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
)

// VerifyOptions changes what Model.Verify does. Nil and the zero value verify all data, with a goroutine for each
// processor.
type VerifyOptions struct {
	// Tensors limits the verification of data to the named tensors, as far as the format's checksums allow. The structure
	// is verified in any case. A name that no tensor has is ErrNotFound.
	Tensors []string

	// Trusted says what the files must be, as Options.Trusted does when a model is opened: TrustKey(key) requires a
	// signature in the file, and a signing.Policy the digests that a signature next to the model lists. Verify asks it
	// again and hashes all files that it names, whatever Tensors has. A file that is not as signed is ErrSignature. A
	// model that others may change is opened with Options.Trusted, which compares the bytes before their use.
	Trusted Trust

	// Workers is the number of goroutines that hash, at most 256. A negative number is ErrOption.
	Workers int

	// Progress is called with the progress, from changing goroutines but never concurrently. It must not close the
	// model, since Close waits for the verification. It may cancel the context.
	Progress Progress
}

// Verify computes every checksum of the file, checks that all data is present and that the structure did not
// change since it was read, and returns which checksum covers what. Nil options work. With
// VerifyOptions.Trusted the files must be as signed. Without it, a signature in the file must be one that the key in the
// file made, if there is a key. Verify reads files without mapping their pages.
//
// Files that caches name by their digests, and targets of links with such names, are hashed and compared too, unless
// VerifyOptions.Tensors selects tensors: sha256-HEX (Ollama), and in a directory blobs 64 hex digits (SHA-256) or 40 (SHA-1 of a
// blob of git). Elsewhere 64 hex digits in a name are compared, and a note says if they match. The formats that
// such caches have link both hashes; in a program without them a note says that the digest was not compared.
//
// Errors wrap ErrChecksum, ErrTruncated, ErrCorrupt, ErrSignature, ErrKey (encrypted data without
// its key), ErrNotFound (a name in VerifyOptions.Tensors), ErrClosed, or the error of the context.
func (m *Model) Verify(ctx context.Context, o *VerifyOptions) (*Coverage, error) {
	if o == nil {
		o = &VerifyOptions{}
	}
	if o.Workers < 0 {
		return nil, driver.OptionError("", "Workers", "%d", o.Workers)
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

// Tensors iterates over the verified tensors in file order, without those that VerifyOptions.Tensors leaves out.
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
	File         int   // index of Model.Files
	Offset, Size int64 // in bytes
	// Part is what has the bytes: `tensor "w"`, "header", or "" for what is between the parts, such as padding.
	Part string
}

// Uncovered iterates over the bytes that no checksum in the files covers, in the order of the files: whatever is changed
// in other bytes, verification reports. It does not depend on VerifyOptions.Tensors.
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
