package format

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format/driver"
)

// Coverage lists what a verification checked, and by which checksum: a format may have no
// checksums, or for some parts only. The zero Coverage covers nothing.
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
	// By is the checksum: "xxh64", "crc32 of the weights", "adler32 of the file". It is empty if
	// the bytes are present and the file has no checksum for them.
	By string
}

// Sections returns the parts of the file that are not tensors, such as "header".
func (c *Coverage) Sections() []Covered { return slices.Clone(c.get().sections) }

// Tensors iterates over the verified tensors in file order, without those that
// VerifyOptions.Tensors leaves out.
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
	// Part is what has the bytes: `tensor "w"`, "header", or "" for what is between the parts, such
	// as padding.
	Part string
}

// Uncovered iterates over the bytes that no checksum in the files covers, in the order of the
// files: whatever is changed in other bytes, verification reports. It does not depend on
// VerifyOptions.Tensors.
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

// uncoveredTensors returns the number of verified tensors whose data no checksum covers. Empty
// tensors do not count.
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

// String summarizes the coverage: "ok", "ok, but nothing covers the data of 15 tensors", or "ok,
// but nothing covers the header, the graph or the data of 1 tensor". The zero Coverage is "not
// verified".
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

// uncoveredRange is a range of a file of a model that no checksum covers.
type uncoveredRange struct {
	File         int // number
	Offset, Size int64
	Tensor       int    // that has these bytes, or -1
	Part         string // if no tensor has them
}

// notLooked is the entry of a tensor that was not verified.
const notLooked = "not verified"

// SignatureState is the result of checking a signature.
type SignatureState uint8

// The values of SignatureState.
const (
	Unsigned         SignatureState = iota // the file has no signature
	SignatureUnknown                       // no trusted key was given, or another one signed; the key in the file, if there is one, made the signature
	SignatureTrusted                       // the signature by the trusted key is valid
	SignatureBad                           // the file or the signature was changed after it was signed (Model.CheckSignature)
)

// String returns "unsigned", "not checked", "trusted" or "bad".
func (s SignatureState) String() string {
	switch s {
	case SignatureUnknown:
		return "not checked"
	case SignatureTrusted:
		return "trusted"
	case SignatureBad:
		return "bad"
	}
	return "unsigned"
}
