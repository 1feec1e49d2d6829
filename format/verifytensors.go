package format

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/tensor"
)

// leftTensors lists the wanted tensors that are read after the declared checksums were compared:
// those that these do not cover, and those that have to be decoded.
func (v *verification) leftTensors() []int {
	m := v.m
	left := make([]int, 0, m.index.Len())
	total := int64(0)
	decodesAll := func(s driver.Sum) bool { return s.All && s.Content != nil }
	areAllProved := v.isWhole() && slices.ContainsFunc(m.declared().list, decodesAll)
	for i := range m.index.Len() {
		if !v.Wanted(i) || areAllProved || v.isProved(i) {
			continue
		}
		left = append(left, i)
		total += m.index.Size(i)
	}
	v.Expect(total)
	return left
}

// isProved reports whether the declared checksums prove that tensor i can be read.
func (v *verification) isProved(i int) bool {
	m := v.m
	from, to := m.sumsOf(i)
	list := m.declared().list[from:to]
	isDecoded := func(s driver.Sum) bool { return s.Content != nil || s.Check != nil }
	if slices.ContainsFunc(list, isDecoded) {
		return true
	}
	hasDigest := func(s driver.Sum) bool { return len(s.Accept) > 0 }
	return slices.ContainsFunc(list, hasDigest) && (!m.index.Loaded(i) || m.parsed.Stream == nil)
}

// tensors checks tensors that were not proved yet.
func (v *verification) tensors(left []int) error {
	total := int64(0)
	for _, i := range left {
		total += v.m.index.Size(i)
	}
	slices.SortFunc(left, func(a, b int) int {
		return cmp.Or(v.m.extent(a).Compare(v.m.extent(b)), a-b)
	})
	v.limit = min(max(total/int64(v.workers()*16), minJob), pass.PieceSize)
	if v.m.main.IsReader() {
		v.limit = v.pass.Fetch
	}
	at := func(k int) pass.Extent { return v.m.extent(left[k]) }
	return v.eachJob(len(left), at, func(j *pass.Job) error { return v.verifyJob(left[j.From:j.To], j.Extent) })
}

// minJob is the least limit of jobs in memory, so that all workers are busy.
const minJob = 16 << 10

// verifyJob checks the tensors of a job, which is read at once if it is small.
func (v *verification) verifyJob(which []int, e pass.Extent) error {
	isDone, err := v.verifySmall(which, e)
	if isDone {
		return err
	}
	if !e.IsAlone && e.Size > 0 && e.Size <= v.limit {
		r, err := v.m.spaces.files[e.File].open()
		if err == nil && e.Size <= r.Size()-e.Offset { // else v.each names the tensor that lacks bytes
			return v.pass.Pieces(pass.Range{File: r, Offset: e.Offset, Size: e.Size, IsWhole: true}, func(b []byte) error {
				return v.each(which, e.Offset, b)
			})
		}
	}
	return v.each(which, 0, nil)
}

// verifySmall is verifyJob for a job in a small file that was not used yet: it reads the file at
// once, also to compare the structure in it. Verifying 10,000 files of 320 bytes takes 3 times as
// long if each is mapped.
func (v *verification) verifySmall(which []int, e pass.Extent) (isDone bool, err error) {
	f := v.m.spaces.files[e.File]
	size := f.seen.Size()
	if f.region.Load() != nil || f.state != present || size >= pass.Small {
		return false, nil
	}
	if e.IsAlone || e.Offset+e.Size > size {
		return false, nil
	}
	buf := buffer(size)
	defer steps.Put(buf)
	b := (*buf)[:size]
	if !f.readUnused(b) {
		return false, nil
	}
	structure := v.m.spaces.structure.Of(e.File)
	for i := range structure {
		p := &structure[i]
		if p.End() > size || !p.IsSame(b[p.Offset:p.End()]) {
			return true, v.m.spaces.changed(f.path())(p)
		}
	}
	return true, v.each(which, 0, b)
}

// each checks tensors that are in data, which is at an offset of their file, or are to be read if
// that is nil.
func (v *verification) each(which []int, at int64, data []byte) error {
	var last pass.Extent // of the tensor that was hashed last
	var kind driver.Kind
	var sum uint64
	for _, i := range which {
		s := v.tensorSum(i)
		e := v.m.extent(i)
		if !e.IsAlone && e == last && s.Kind == kind {
			v.Done(e.Size, v.m.index.Name(i)) // it has the same bytes, whose sum is known
		} else {
			var err error
			sum, err = v.sumOf(i, s.Kind, at, data)
			if err != nil {
				return err
			}
		}
		err := v.compareTensor(i, s, sum, e.Offset)
		if err != nil {
			return err
		}
		last = e
		kind = s.Kind
		if v.coverage.tensors != nil { // otherwise this is a check before first use
			v.coverage.tensors[i] = s.Kind.String()
		}
	}
	return nil
}

// sumOf returns a checksum of tensor i, whose bytes are in data as in each.
func (v *verification) sumOf(i int, k driver.Kind, at int64, data []byte) (uint64, error) {
	e := v.m.extent(i)
	name := v.m.index.Name(i)
	if e.IsAlone {
		return v.decoded(i, k)
	}
	if data != nil {
		sum := checksum.Of(k, data[e.Offset-at:][:e.Size])
		v.Done(e.Size, name)
		return sum, v.ctx.Err()
	}
	r, err := v.m.find(v.m.spaces.files[e.File], i, name, e.Offset, e.Size)
	if err != nil {
		return 0, err
	}
	return v.hash(k, r, e.Offset, e.Size, name, !v.busy)
}

// decoded returns a checksum of tensor i, which the driver loads.
func (v *verification) decoded(i int, k driver.Kind) (uint64, error) {
	name := v.m.index.Name(i)
	isFirstUse := v.coverage.tensors == nil
	if stream := v.m.parsed.Stream; stream != nil && !isFirstUse {
		sum := checksum.Count(v, k, name)
		err := stream(i, sum)
		return sum.Sum64(), err
	}
	// Cache it only on first use, when its bytes are needed next.
	data, err := v.m.decoded(i, isFirstUse)
	v.Done(v.m.index.Size(i), name)
	return checksum.Of(k, data), err
}

// compareTensor compares a computed checksum of tensor i with that of the file.
func (v *verification) compareTensor(i int, s driver.Digest, got uint64, off int64) error {
	if s.Kind == driver.NoSum {
		return nil
	}
	v.m.sums.Add(1)
	if got == s.Want {
		return nil
	}
	e := v.m.about(v.m.index.Name(i), off, nil)
	if s.Field != "" {
		e.Field = s.Field
		e.Offset = s.Offset
	}
	computed := checksum.Hex(s.Kind, got)
	recorded := checksum.Hex(s.Kind, s.Want)
	e.Err = fmt.Errorf("%w: the data has %v %s, the file records %s", tensor.ErrChecksum, s.Kind, computed, recorded)
	return e
}
