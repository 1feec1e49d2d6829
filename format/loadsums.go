package format

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/tensor"
)

// loadSums are the checksums that Load computes of the bytes that it reads: those of tensors, and
// declared ones, whose parts are combined at the end. What a declared checksum covers and no
// request reads is read then. What the caller gets was hashed in memory that no other process can
// change.
type loadSums struct {
	*verification
	list  []loadSum
	spans []pass.Span // that they cover, in order and without overlaps

	mu     sync.Mutex // of what follows, and isRight of list
	pieces []hashedPiece
}

// loadSum is a checksum of loadSums.
type loadSum struct {
	tensor   int // that has it, or -1
	declared int // its number, if no tensor has it
	kinds    []driver.Kind
	isRight  bool // the tensor was read at once
}

// hashedPiece is a checksum of a range that was read.
type hashedPiece struct {
	pass.Span
	kind driver.Kind
	sum  uint64
}

// compare orders pieces by their places.
func (p hashedPiece) compare(x hashedPiece) int {
	return cmp.Or(
		cmp.Compare(p.File, x.File), cmp.Compare(p.Offset, x.Offset), cmp.Compare(p.kind, x.kind),
	)
}

// plan lists the checksums that are computed of what the requests read, and marks these requests.
// share is the number of bytes that each goroutine reads.
func (s *loadSums) plan(list []checkedRequest, share int64) {
	m := s.m
	isResident := func(t checkedRequest) bool { return t.resident() }
	if !m.touch.pending.Load() || slices.ContainsFunc(list, isResident) {
		return
	}
	if m.parsed.TensorSum != nil {
		s.list = make([]loadSum, 0, len(list))
		s.spans = make([]pass.Span, 0, len(list))
	}
	onTheWay := make(map[int]bool) // by declared checksum; false if it is compared before
	for i := range list {
		t := &list[i]
		from, to := m.sumsOf(t.i)
		for k := from; t.whole && k < to; k++ {
			onTheWay[k] = false
		}
	}
	for i := range list {
		t := &list[i]
		if t.whole || t.bytes == 0 || m.touch.of(t.i).good.Load() {
			continue
		}
		own := s.tensorSum(t.i)
		if own.Kind != driver.NoSum {
			t.hashed = s.addTensor(t, own.Kind, share)
		} else if m.parsed.SumsOf != nil {
			t.hashed = s.addDeclared(t.i, onTheWay)
		}
	}
	if !s.arrange() {
		s.drop(list)
	}
}

// allKinds has each kind at its number.
var allKinds = []driver.Kind{
	driver.NoSum, driver.XXH64, driver.CRC32, driver.CRC32C, driver.Adler32,
}

// addTensor adds the checksum of the tensor of t, unless it is compared before.
func (s *loadSums) addTensor(t *checkedRequest, kind driver.Kind, share int64) bool {
	if kind == driver.XXH64 {
		isShared := t.Floats != nil && t.bytes > share // several goroutines decode it
		if len(t.Slice) > 0 || isShared {
			return false
		}
		t.isOneChunk = true
	}
	span := pass.Span{File: int(t.File), Offset: t.Offset, Size: t.Size, Of: len(s.list)}
	s.spans = append(s.spans, span)
	s.list = append(s.list, loadSum{tensor: t.i, kinds: allKinds[kind:][:1]})
	return true
}

// addDeclared adds the declared checksums of tensor i, unless one of them is compared before.
func (s *loadSums) addDeclared(i int, onTheWay map[int]bool) bool {
	from, to := s.m.sumsOf(i)
	areAll := true
	for k := from; k < to; k++ {
		is, ok := onTheWay[k]
		if !ok {
			is = s.add(k)
			onTheWay[k] = is
		}
		areAll = areAll && is
	}
	return areAll
}

// add adds declared checksum k, unless it has been compared. It reports false if it is compared
// before.
func (s *loadSums) add(k int) bool {
	d := s.m.declared()
	sum := &d.list[k]
	state := &d.states[k]
	state.mu.Lock()
	hasPassed := state.passed || !isCompared(sum)
	hasFailed := state.err != nil
	state.mu.Unlock()
	if hasPassed || hasFailed || !isCombined(sum) {
		return hasPassed
	}
	x := loadSum{tensor: -1, declared: k}
	for _, d := range sum.Accept {
		if !slices.Contains(x.kinds, d.Kind) {
			x.kinds = append(x.kinds, d.Kind)
		}
	}
	_ = checksum.EachRange(sum, func(r driver.Range, isZeroed bool) error {
		if !isZeroed && r.Size > 0 {
			s.spans = append(s.spans, spanOf(r, len(s.list)))
		}
		return nil
	})
	s.list = append(s.list, x)
	return true
}

// isCombined reports whether s is combined from the checksums of its parts, in any form.
func isCombined(s *driver.Sum) bool {
	if s.Or != nil || s.Content != nil || s.Check != nil {
		return false
	}
	isInOrder := func(d driver.Digest) bool {
		return d.Hash != nil || d.Kind == driver.NoSum || d.Kind == driver.XXH64
	}
	isOutside := func(r driver.Range) bool {
		return r.Offset < 0 || r.Size < 0 || r.Offset+r.Size < 0
	}
	return !slices.ContainsFunc(s.Accept, isInOrder) && !slices.ContainsFunc(s.Ranges, isOutside)
}

// arrange sorts the spans. It reports false if different checksums cover the same bytes.
func (s *loadSums) arrange() bool {
	slices.SortFunc(s.spans, func(a, b pass.Span) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Of, b.Of),
		)
	})
	s.spans = slices.CompactFunc(s.spans, s.areSame)
	for i := 1; i < len(s.spans); i++ {
		last := &s.spans[i-1]
		if s.spans[i].File == last.File && s.spans[i].Offset < last.Offset+last.Size {
			return false
		}
	}
	return true
}

// areSame reports whether two spans are of the same tensor, or of two with the same bytes and the
// same checksum.
func (s *loadSums) areSame(a, b pass.Span) bool {
	x := s.list[a.Of].tensor
	y := s.list[b.Of].tensor
	if x < 0 || y < 0 || a.File != b.File || a.Offset != b.Offset || a.Size != b.Size {
		return false
	}
	p := s.tensorSum(x)
	q := s.tensorSum(y)
	return p.Kind == q.Kind && p.Want == q.Want
}

// drop leaves all checksums to be compared before.
func (s *loadSums) drop(list []checkedRequest) {
	s.list = nil
	s.spans = nil
	for i := range list {
		list[i].hashed = false
		list[i].isOneChunk = false
	}
}

// feed takes consecutive bytes of a range for the checksums that cover them.
type feed struct {
	sums    *loadSums
	spans   []pass.Span // that have bytes of the rest of the range
	at      int64       // of the next byte
	first   int64       // of the bytes in digests
	digests []checksum.Digest
}

// feed returns a feed for the bytes of e.
func (s *loadSums) feed(e pass.Extent) *feed {
	f := &feed{sums: s, at: e.Offset}
	from, _ := slices.BinarySearchFunc(s.spans, e, func(x pass.Span, e pass.Extent) int {
		if x.File < int(e.File) || x.File == int(e.File) && x.Offset+x.Size <= e.Offset {
			return -1
		}
		return 1
	})
	for to := from; to < len(s.spans); to++ {
		x := &s.spans[to]
		if x.File != int(e.File) || x.Offset >= e.Offset+e.Size {
			break
		}
		f.spans = s.spans[from : to+1]
	}
	return f
}

// isActive reports whether a checksum covers any of the bytes.
func (f *feed) isActive() bool { return len(f.spans) > 0 }

// write takes the next bytes.
func (f *feed) write(b []byte) error {
	for len(b) > 0 && len(f.spans) > 0 {
		x := &f.spans[0]
		if f.at < x.Offset {
			skipped := min(int64(len(b)), x.Offset-f.at)
			b = b[skipped:]
			f.at += skipped
			continue
		}
		if len(f.digests) == 0 {
			f.first = f.at
			for _, k := range f.sums.list[x.Of].kinds {
				f.digests = append(f.digests, checksum.New(k))
			}
		}
		n := min(int64(len(b)), x.Offset+x.Size-f.at)
		for i := range f.digests {
			_, _ = f.digests[i].Write(b[:n])
		}
		b = b[n:]
		f.at += n
		if f.at == x.Offset+x.Size {
			err := f.flush()
			if err != nil {
				return err
			}
			f.spans = f.spans[1:]
		}
	}
	return nil
}

// flush ends a piece. It compares the checksum of a tensor that is complete.
func (f *feed) flush() error {
	if len(f.digests) == 0 {
		return nil
	}
	s := f.sums
	x := &f.spans[0]
	sum := &s.list[x.Of]
	piece := pass.Span{File: x.File, Offset: f.first, Size: f.at - f.first, Of: x.Of}
	isWhole := sum.tensor >= 0 && piece.Size == x.Size
	if isWhole {
		err := s.compareTensor(sum.tensor, s.tensorSum(sum.tensor), f.digests[0].Sum64(), x.Offset)
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum.isRight = isWhole
	for i := 0; i < len(sum.kinds) && !isWhole; i++ {
		s.pieces = append(s.pieces, hashedPiece{piece, sum.kinds[i], f.digests[i].Sum64()})
	}
	f.digests = f.digests[:0]
	return nil
}

// finish reads what no request has read, compares the checksums, and marks the tensors.
func (s *loadSums) finish(list []checkedRequest) error {
	rest := s.rest()
	err := s.Each(len(rest), func(i int) error { return s.read(&rest[i]) })
	if err != nil {
		return err
	}
	slices.SortFunc(s.pieces, hashedPiece.compare)
	err = s.compareTensors()
	if err != nil {
		return err
	}
	err = s.compareDeclared()
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].hashed {
			s.m.touch.passed(list[i].i)
		}
	}
	return nil
}

// rest returns the ranges that are not hashed yet.
func (s *loadSums) rest() []pass.Span {
	isRight := func(x pass.Span) bool { return s.list[x.Of].isRight }
	spans := slices.DeleteFunc(slices.Clone(s.spans), isRight)
	sizes := make([]int64, len(s.m.spaces.files))
	for i := range spans {
		x := &spans[i]
		sizes[x.File] = x.Offset + x.Size
	}
	read := make([]pass.Span, len(s.pieces))
	for i := range s.pieces {
		read[i] = s.pieces[i].Span
	}
	var rest []pass.Span
	for _, gap := range pass.Gaps(sizes, read, spans) {
		step := max(partSize, s.pass.Fetch)
		for gap.Of >= 0 && gap.Size > step {
			part := gap
			part.Size = step
			rest = append(rest, part)
			gap.Offset += step
			gap.Size -= step
		}
		if gap.Of >= 0 {
			rest = append(rest, gap)
		}
	}
	return rest
}

// read hashes a range.
func (s *loadSums) read(x *pass.Span) error {
	r, err := s.m.spaces.region(driver.Space(x.File))
	if err != nil {
		return err
	}
	err = r.Check(x.Offset, x.Size)
	if err != nil {
		return err
	}
	f := s.feed(pass.Extent{File: uint32(x.File), Offset: x.Offset, Size: x.Size})
	err = s.pass.Pieces(pass.Range{File: r, Offset: x.Offset, Size: x.Size}, f.write)
	if err != nil {
		return err
	}
	return f.flush()
}

// compareTensors compares the checksums of tensors that were not read at once.
func (s *loadSums) compareTensors() error {
	for i := range s.spans {
		x := &s.spans[i]
		sum := &s.list[x.Of]
		if sum.tensor < 0 || sum.isRight {
			continue
		}
		want := s.tensorSum(sum.tensor)
		got, err := s.Hash(want.Kind, driver.Space(x.File), x.Offset, x.Size, "")
		if err != nil {
			return err
		}
		err = s.compareTensor(sum.tensor, want, got, x.Offset)
		if err != nil {
			return err
		}
	}
	return nil
}

// compareDeclared compares the declared checksums.
func (s *loadSums) compareDeclared() error {
	d := s.m.declared()
	hasStructure := false
	for i := range s.list {
		if s.list[i].tensor >= 0 {
			continue
		}
		sum := &d.list[s.list[i].declared]
		_, err := s.compareSum(s, sum)
		if err != nil {
			return err
		}
		hasStructure = hasStructure || s.m.parsedIn(sum)
	}
	if hasStructure {
		err := s.unchanged() // the tensors must still be where Parse has found them
		if err != nil {
			return err
		}
	}
	for i := range s.list {
		if s.list[i].tensor >= 0 {
			continue
		}
		state := &d.states[s.list[i].declared]
		state.mu.Lock()
		state.passed = true
		state.mu.Unlock()
	}
	return nil
}

// Hash implements checksum.Files: it combines the pieces of a range.
func (s *loadSums) Hash(k driver.Kind, n driver.Space, off, size int64, _ string) (uint64, error) {
	sum := checksum.Empty(k)
	from := hashedPiece{Span: pass.Span{File: int(n), Offset: off}}
	first, _ := slices.BinarySearchFunc(s.pieces, from, hashedPiece.compare)
	at := off
	for _, p := range s.pieces[first:] {
		if p.File != int(n) || p.Offset >= off+size {
			break
		}
		if p.kind == k && p.Offset == at {
			sum = checksum.Combine(k, sum, p.sum, p.Size)
			at += p.Size
		}
	}
	if at != off+size {
		return 0, fmt.Errorf("%w: of %d bytes at %d, %d were hashed",
			tensor.ErrChecksum, size, off, at-off)
	}
	return sum, nil
}
