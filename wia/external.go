package wia

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// elsewhere is a range of an external file that a tensor of an attribute or of a
// subgraph names.
type elsewhere struct {
	name string // of the tensor, which may have none
	rng  extent
	sum  digest
}

// elsewhereBytes is what one takes in a list that grows.
const elsewhereBytes = 160

// extent is a range of a file.
type extent struct {
	space     driver.Space
	off, size int64
}

// space returns the space of the external file at a location, which is declared
// when it is first met: it is opened when one of its tensors is used.
func (f *parsed) space(location []byte) (driver.Space, error) {
	if s, ok := f.spaces[string(location)]; ok {
		return s, nil
	}
	l := string(location)
	name := path.Clean(l)
	if strings.HasSuffix(l, "/") {
		name += "/"
	}
	dir, _ := f.src.Dir() // without one, the use of the file is the error
	s, err := dir.Declare(name)
	if err != nil {
		return 0, err
	}
	if f.spaces == nil {
		f.spaces = make(map[string]driver.Space)
	}
	f.spaces[l] = s
	return s, nil
}

// extentOf returns where the data of external tensor i is.
func (f *parsed) extentOf(i int) (e extent) {
	e.space, e.off, e.size = f.index.Place(i)
	return e
}

// groupClaims puts claims on equal ranges next to each other, and returns where each range
// ends in the list.
func (f *parsed) groupClaims(claims []uint32) (ends []uint32) {
	slices.SortFunc(claims, func(a, b uint32) int {
		x, y := f.claim(a).rng, f.claim(b).rng
		return cmp.Or(cmp.Compare(x.space, y.space), cmp.Compare(x.off, y.off), cmp.Compare(x.size, y.size), cmp.Compare(a, b))
	})
	for i := range claims {
		if i+1 == len(claims) || f.claim(claims[i]).rng != f.claim(claims[i+1]).rng {
			ends = append(ends, uint32(i+1))
		}
	}
	return ends
}

// claim is what a tensor, -1 for one of an attribute, says of a range.
type claim struct {
	tensor int
	rng    extent
	sum    digest
}

// claim returns claim n: that of tensor n, or behind those of one of an attribute.
func (f *parsed) claim(n uint32) claim {
	if int(n) >= len(f.records) {
		h := &f.hidden[int(n)-len(f.records)]
		return claim{-1, h.rng, h.sum}
	}
	i := int(n)
	return claim{i, f.extentOf(i), f.digests[f.records[i].more]}
}

// checkRange checks that the range of an external file that all these claims are about
// exists and has the sums that it should have.
func (f *parsed) checkRange(v driver.Verification, claims []uint32) error {
	first := f.claim(claims[0])
	part, summed := "graph", false
	for _, n := range claims {
		c := f.claim(n)
		summed = summed || c.sum.set
		if c.tensor >= 0 {
			part = f.index.Name(c.tensor)
		}
	}
	e := first.rng
	if !summed {
		_, err := v.Hash(driver.NoSum, e.space, e.off, e.size, part)
		return f.externalError(first.tensor, err)
	}
	got, err := sha256Of(v, e, part)
	if err != nil {
		return f.externalError(first.tensor, err)
	}
	for _, n := range claims {
		if c := f.claim(n); c.sum.set && got != c.sum.sum {
			return f.externalError(c.tensor, fmt.Errorf("%w: SHA-256 of %d bytes at %d of %q is %x, recorded %x",
				format.ErrChecksum, e.size, e.off, f.location(e.space), got[:8], c.sum.sum[:8]))
		}
	}
	return nil
}

// location returns where an external file is, in one of the spellings of the file.
func (f *parsed) location(s driver.Space) (location string) {
	for l, n := range f.spaces {
		if n == s && (location == "" || l < location) {
			location = l
		}
	}
	return location
}

// externalError says which tensor an error about external data is about, and
// where its message is; of tensors in attributes it says only that.
func (f *parsed) externalError(i int, err error) error {
	var inner *tensor.Error
	switch {
	case err == nil:
		return nil
	case i < 0:
		return wire.Error(formatName, "graph: external_data", f.graph.at, err)
	case errors.As(err, &inner) && inner.Path == "" && inner.Field != "":
		err = fmt.Errorf("%s: %w", inner.Field, inner.Err)
	}
	err = protobuf.InField("external_data", &protobuf.Defect{At: f.records[i].at, Err: err})
	return f.payloadOf(i).locate(fmt.Sprintf("tensor %q", f.index.Name(i)), err)
}
