package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// sums are the checksums that the format of a model has declared.
type sums struct {
	once   sync.Once
	list   []driver.Sum
	states []sumState
}

// sumState is what is known of a declared checksum.
type sumState struct {
	mu     sync.Mutex
	passed bool  // since the model was opened
	err    error // a lasting error
	form   int   // the number of the digest that was right
}

// declared returns the declared checksums. It is called between Enter and Leave.
func (m *Model) declared() *sums {
	s := &m.declaredSums
	s.once.Do(func() {
		if m.parsed.Sums == nil {
			return
		}
		s.list = m.parsed.Sums()
		s.states = make([]sumState, len(s.list))
	})
	return s
}

// sumsOf returns the range of the declared checksums that cover tensor i.
func (m *Model) sumsOf(i int) (from, to int) {
	if m.parsed.SumsOf == nil {
		return 0, 0
	}
	return m.parsed.SumsOf(i)
}

// hasher computes checksums of bytes of a model: of its files or, without a verification, of memory that Parse has read
// at an offset, or that is the content of a sum.
type hasher struct {
	v   *verification
	b   []byte
	off int64
}

// sum returns the checksum of a range. The part is for reports of progress; without one, nothing is counted.
func (h *hasher) sum(k driver.Kind, r driver.Range, part string) (uint64, error) {
	if h.v != nil {
		return h.v.Hash(k, r.Space, r.Offset, r.Size, part)
	}
	b, err := h.at(r)
	return checksum.Of(k, b), err
}

// feed writes a range to w.
func (h *hasher) feed(w io.Writer, r driver.Range, part string) error {
	if h.v != nil {
		return h.v.Feed(w, r.Space, r.Offset, r.Size, part)
	}
	b, err := h.at(r)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// content returns the checksum of the content of s.
func (h *hasher) content(s *driver.Sum, k driver.Kind) (uint64, error) {
	if h.v != nil {
		return s.Content(h.v)
	}
	return checksum.Of(k, h.b), nil
}

// at returns the bytes of a range in memory.
func (h *hasher) at(r driver.Range) ([]byte, error) {
	if r.Offset < h.off || r.Size < 0 || r.Size > int64(len(h.b))-(r.Offset-h.off) {
		return nil, fmt.Errorf("%w: the driver compares %d bytes at %d with %d at %d", tensor.ErrCorrupt, r.Size, r.Offset, len(h.b), h.off)
	}
	return h.b[r.Offset-h.off:][:r.Size], nil
}

// compareSum compares the digests of s, and then those of its other forms, until one is right. It returns its number.
func compareSum(h *hasher, s *driver.Sum) (form int, err error) {
	computed := "" // of the first form
	part := s.Name
	for f := s; f != nil; f = f.Or {
		for i := range f.Accept {
			d := &f.Accept[i]
			equal, text, err := compareDigest(h, f, d, part)
			if err != nil {
				return 0, locate(d, err)
			}
			if equal {
				return form, nil
			}
			if form == 0 {
				computed = text
			}
			part = "" // the bytes were counted
			form++
		}
	}
	return 0, mismatch(s, computed)
}

// locate adds the place of a digest to an error that has none.
func locate(d *driver.Digest, err error) error {
	var located *tensor.Error
	if d.Field == "" || errors.As(err, &located) && located.Field != "" {
		return err
	}
	return wire.Error("", d.Field, d.Offset, err)
}

// mismatch returns the error for a checksum of which no form is right. computed is what the bytes have in the first form.
func mismatch(s *driver.Sum, computed string) error {
	d := &s.Accept[0]
	field, at := d.Field, d.Offset
	if field == "" {
		field = s.Name
		if len(s.Ranges) > 0 {
			at = s.Ranges[0].Offset
		}
	}
	return wire.Errorf("", field, at, tensor.ErrChecksum, "the file records %s for the %s, which has %s", recorded(d), s.Name, computed)
}

// recorded returns a digest in hexadecimal.
func recorded(d *driver.Digest) string {
	if d.Hash != nil {
		return fmt.Sprintf("%x", d.Bytes)
	}
	return hexOf(d.Kind, d.Want)
}

func hexOf(k driver.Kind, sum uint64) string {
	if k == driver.XXH64 {
		return fmt.Sprintf("%016x", sum)
	}
	return fmt.Sprintf("%08x", sum)
}

// compareDigest compares a digest of s. If that is wrong, it returns a text that says what was computed.
func compareDigest(h *hasher, s *driver.Sum, d *driver.Digest, part string) (equal bool, text string, err error) {
	if d.Hash != nil || d.Kind == driver.XXH64 && s.Content == nil {
		got, err := fedDigest(h, s, d, part)
		if err != nil {
			return false, "", err
		}
		want := d.Bytes
		if d.Hash == nil {
			want = be64(d.Want)
		}
		if bytes.Equal(got, want) {
			return true, "", nil
		}
		return false, fmt.Sprintf("%s %x", d.Name(), got), nil
	}
	var got uint64
	if s.Content != nil {
		got, err = h.content(s, d.Kind)
	} else {
		got, err = combinedDigest(h, s, d, part)
	}
	if err != nil {
		return false, "", err
	}
	if got == d.Want {
		return true, "", nil
	}
	return false, d.Name() + " " + hexOf(d.Kind, got), nil
}

// be64 returns the bytes that the hash of XXH64 has for a sum.
func be64(sum uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(sum >> (56 - 8*i))
	}
	return b
}

// fedDigest returns the digest of the ranges of s, which are written to a hash in order.
func fedDigest(h *hasher, s *driver.Sum, d *driver.Digest, part string) ([]byte, error) {
	var to io.Writer
	var sum func() []byte
	if d.Hash != nil {
		state := d.Hash.New()
		to, sum = state, func() []byte { return state.Sum(nil) }
	} else {
		state := checksum.New(d.Kind)
		to, sum = &state, func() []byte { return be64(state.Sum64()) }
	}
	err := eachRange(s, func(r driver.Range, zeroed bool) error {
		if zeroed {
			_, err := to.Write(make([]byte, r.Size))
			return err
		}
		return h.feed(to, r, part)
	})
	if err != nil {
		return nil, err
	}
	return sum(), nil
}

// combinedDigest returns the checksum of the ranges of s, of a kind that can be combined.
func combinedDigest(h *hasher, s *driver.Sum, d *driver.Digest, part string) (uint64, error) {
	all := checksum.Empty(d.Kind)
	err := eachRange(s, func(r driver.Range, zeroed bool) error {
		if zeroed {
			all = checksum.Update(d.Kind, all, make([]byte, r.Size))
			return nil
		}
		one, err := h.sum(d.Kind, r, part)
		all = checksum.Combine(d.Kind, all, one, r.Size)
		return err
	})
	return all, err
}

// eachRange calls f for the ranges of s, and tells those that count as zeros, which are a few bytes.
func eachRange(s *driver.Sum, f func(r driver.Range, zeroed bool) error) error {
	for _, r := range s.Ranges {
		end := r.Offset + r.Size
		for _, z := range s.Zeroed {
			if z.Space != r.Space || z.Offset < r.Offset || z.Offset+z.Size > end {
				continue
			}
			before := driver.Range{Space: r.Space, Offset: r.Offset, Size: z.Offset - r.Offset}
			if err := f(before, false); err != nil {
				return err
			}
			if err := f(z, true); err != nil {
				return err
			}
			r.Offset = z.Offset + z.Size
			r.Size = end - r.Offset
		}
		if err := f(r, false); err != nil {
			return err
		}
	}
	return nil
}

// Compare implements driver.Source.
func (in *input) Compare(s *driver.Sum, b []byte, off int64) (form int, err error) {
	if !in.f.c.parse.CheckSums || len(s.Accept) == 0 {
		return -1, nil
	}
	form, err = compareSum(&hasher{b: b, off: off}, s)
	if err != nil {
		return 0, wire.InFile(err, in.f.path())
	}
	return form, nil
}

// Compare implements driver.Verification.
func (v *verification) Compare(k int) error {
	d := v.m.declared()
	form, err := v.compareSum(&d.list[k])
	if err != nil {
		return err
	}
	d.setForm(k, form, true)
	return nil
}

// setForm records that the digest with a number was right, and whether that holds for the first use.
func (d *sums) setForm(k, form int, hasPassed bool) {
	s := &d.states[k]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.form = form
	s.passed = s.passed || hasPassed
}

// compareSum compares a declared checksum, and returns the number of the digest that is right.
func (v *verification) compareSum(s *driver.Sum) (form int, err error) {
	if s.Check != nil {
		return 0, s.Check(v)
	}
	if len(s.Accept) == 0 {
		return 0, nil
	}
	v.m.sums.Add(1)
	form, err = compareSum(&hasher{v: v}, s)
	if err != nil {
		err = wire.InFile(v.m.ofData(err, s), v.m.spaces.files[blamed(s)].path())
	}
	return form, err
}

// ofData adds the name of the file that differs to an error, if a checksum in another file says so.
func (m *Model) ofData(err error, s *driver.Sum) error {
	e, ok := err.(*tensor.Error)
	if !ok || !errors.Is(err, tensor.ErrChecksum) || len(s.Ranges) == 0 || s.Ranges[0].Space == blamed(s) {
		return err
	}
	c := *e
	c.Err = m.spaces.files[s.Ranges[0].Space].external(e.Err)
	return &c
}

// blamed returns the file that errors about s name.
func blamed(s *driver.Sum) driver.Space {
	d := &s.Accept[0]
	if d.Field == "" && len(s.Ranges) > 0 {
		return s.Ranges[0].Space
	}
	return d.Space
}

// countedBytes returns the number of bytes that comparing s counts.
func countedBytes(s *driver.Sum) int64 {
	if s.Content != nil || s.Check != nil {
		return s.Size
	}
	if len(s.Accept) == 0 {
		return 0
	}
	n := int64(0)
	for _, r := range s.Ranges {
		n += r.Size
	}
	for _, r := range s.Zeroed {
		n -= r.Size
	}
	return n
}

// wantedSums lists the declared checksums to compare: those that cover no tensor, and those of the wanted tensors.
func (v *verification) wantedSums() (list []int) {
	d := v.m.declared()
	covering := make([]bool, len(d.list))
	wanted := make([]bool, len(d.list))
	for i := range v.m.index.Len() {
		from, to := v.m.sumsOf(i)
		for k := from; k < to; k++ {
			covering[k] = true
			wanted[k] = wanted[k] || v.Wanted(i)
		}
	}
	for k := range d.list {
		s := &d.list[k]
		switch {
		case s.All && !v.isWhole():
		case wanted[k], !covering[k], s.Structure, v.o.Trusted != nil && isOwn(s):
			list = append(list, k)
		}
	}
	return list
}

// isOwn reports whether s covers bytes of the model's own file, which a signature in the file covers.
func isOwn(s *driver.Sum) bool { return len(s.Ranges) > 0 && s.Ranges[0].Space == 0 }

// compareSums compares declared checksums. Without the key of an encrypted file it compares what needs none, and
// then returns ErrKey.
func (v *verification) compareSums(list []int) error {
	d := v.m.declared()
	var mu sync.Mutex
	var locked error // of the first one that needs the key
	first := len(list)
	err := v.Each(len(list), func(n int) error {
		k := list[n]
		form, err := v.compareSum(&d.list[k])
		if errors.Is(err, tensor.ErrKey) && !errors.Is(err, tensor.ErrSignature) {
			mu.Lock()
			defer mu.Unlock()
			if n < first {
				first = n
				locked = err
			}
			return nil
		}
		if err != nil {
			return err
		}
		d.setForm(k, form, false)
		return nil
	})
	if err != nil {
		return err
	}
	return locked
}

// isCompared reports whether s has anything to compare bytes with, and is not only read.
func isCompared(s *driver.Sum) bool {
	isSum := func(d driver.Digest) bool { return d.Hash != nil || d.Kind != driver.NoSum }
	return s.Check != nil || slices.ContainsFunc(s.Accept, isSum)
}

// touchSums compares the declared checksums that cover tensor i, each once.
func (m *Model) touchSums(v *verification, i int) error {
	d := m.declared()
	from, to := m.sumsOf(i)
	for k := from; k < to; k++ {
		if err := m.touchSum(v, &d.list[k], &d.states[k]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) touchSum(v *verification, s *driver.Sum, state *sumState) error {
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.passed || state.err != nil {
		return state.err
	}
	if !isCompared(s) {
		return nil
	}
	_, err := v.compareSum(s)
	if err == nil && m.parsedIn(s) {
		err = v.unchanged() // the tensors must still be where Parse has found them
	}
	state.passed = err == nil
	if isLasting(err) {
		state.err = err
	}
	return err
}

// parsedIn reports whether Parse has read structure in the ranges of s.
func (m *Model) parsedIn(s *driver.Sum) bool {
	for _, r := range s.Ranges {
		for _, p := range m.spaces.structure.Of(uint32(r.Space)) {
			if p.Offset < r.Offset+r.Size && r.Offset < p.End() {
				return true
			}
		}
	}
	return false
}
