package format

import (
	"cmp"
	"context"
	"crypto"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// notLooked is the entry of a tensor that was not verified.
const notLooked = "not verified"

// verify verifies all checksums of the file and reads all data, or those of some tensors.
func (m *Model) verify(ctx context.Context, o *VerifyOptions) (*Coverage, error) {
	m.c.trust.forget() // not what was read before
	v := newVerification(m, ctx, o)
	defer v.pass.Close()
	if err := m.Guard(v.run); err != nil {
		return nil, m.explain(err)
	}
	if v.isWhole() {
		m.touch.pending.Store(false)
	}
	c := v.coverage
	c.index = &m.index
	return &c, nil
}

// verification implements driver.Verification.
type verification struct {
	m   *Model
	ctx context.Context
	o   *VerifyOptions
	key crypto.PublicKey // that must have signed the file, nil for none
	work.Progress
	pass     pass.Pass
	wanted   []bool         // by tensor; nil for all
	limit    int64          // of the size of jobs
	busy     bool           // there are enough jobs for all workers
	named    []driver.Space // files that are what their names say
	coverage Coverage
}

var _ driver.Verification = (*verification)(nil)

func newVerification(m *Model, ctx context.Context, o *VerifyOptions) *verification {
	ctx = cmp.Or(ctx, context.Background())
	v := &verification{m: m, ctx: ctx, o: o, limit: maxJob, Progress: work.Progress{Report: o.Progress}}
	v.pass.Context = ctx
	v.pass.Fetch = fetchSize(m.c.parse.Memory, v.workers())
	return v
}

func (v *verification) run() error {
	m := v.m
	if err := v.ctx.Err(); err != nil {
		return err
	}
	if err := v.authenticate(); err != nil {
		return err
	}
	if len(v.o.Tensors) > 0 {
		v.wanted = make([]bool, m.index.Len())
	}
	for _, name := range v.o.Tensors {
		i, ok := m.index.Lookup(name)
		if !ok {
			return m.about(name, -1, tensor.ErrNotFound)
		}
		v.wanted[i] = true
	}
	v.coverage.tensors = slices.Repeat([]string{notLooked}, m.index.Len())
	sums := v.wantedSums()
	for _, k := range sums {
		v.Expect(countedBytes(&m.declaredSums.list[k]))
	}
	left := v.leftTensors()
	if err := v.compareSums(sums); err != nil {
		return err
	}
	covering := m.declaredSums.covering()
	v.coverSections(sums, covering)
	if err := v.tensors(left); err != nil {
		return err
	}
	for i := range v.coverage.tensors {
		if v.coverage.tensors[i] == notLooked && v.Wanted(i) || v.coverage.tensors[i] == "" {
			v.coverage.tensors[i] = v.coveredBy(i, covering)
		}
	}
	if v.isWhole() {
		err := v.compareNames()
		if err != nil {
			return err
		}
	}
	v.coverage.uncovered = v.uncovered(covering)
	return v.unchanged()
}

// leftTensors lists the wanted tensors that are read after the declared checksums were compared: those that these do not
// cover, and those that have to be decoded.
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
	if !e.IsAlone && e.Size > 0 && e.Size <= v.limit {
		r, err := v.m.spaces.files[e.File].open()
		if err == nil && e.Size <= r.Size()-e.Offset {
			return v.pass.Pieces(pass.Range{File: r, Offset: e.Offset, Size: e.Size, IsWhole: true}, func(b []byte) error {
				return v.each(which, e.Offset, b)
			})
		}
	}
	return v.each(which, 0, nil)
}

// each checks tensors that are in data, which is at an offset of their file, or are to be read if that is nil.
func (v *verification) each(which []int, at int64, data []byte) error {
	var last pass.Extent // of the tensor that was hashed last
	var kind driver.Kind
	var sum uint64
	for _, i := range which {
		s, e, name, err := v.tensorSum(i), v.m.extent(i), v.m.index.Name(i), error(nil)
		switch {
		case e.IsAlone:
			sum, err = v.decoded(i, s.Kind)
		case e == last && s.Kind == kind:
			v.Done(e.Size, name)
		case data != nil:
			sum, err = checksum.Of(s.Kind, data[e.Offset-at:][:e.Size]), v.ctx.Err()
			v.Done(e.Size, name)
		default:
			var r *source.Region
			if r, err = v.m.spaces.files[e.File].find(i, name, e.Offset, e.Size); err == nil {
				sum, err = v.hash(s.Kind, r, e.Offset, e.Size, name, !v.busy)
			}
		}
		if err == nil {
			err = v.compareTensor(i, s, sum, e.Offset)
		}
		if err != nil {
			return err
		}
		last, kind = e, s.Kind
		if v.coverage.tensors != nil { // otherwise this is a check before first use
			v.coverage.tensors[i] = s.Kind.String()
		}
	}
	return nil
}

// decoded returns a checksum of tensor i, which the driver loads.
func (v *verification) decoded(i int, k driver.Kind) (uint64, error) {
	name, isFirstUse := v.m.index.Name(i), v.coverage.tensors == nil
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

// tensorSum returns the checksum of tensor i, of kind NoSum if there is none.
func (v *verification) tensorSum(i int) driver.Digest {
	if v.m.parsed.TensorSum != nil {
		return v.m.parsed.TensorSum(i)
	}
	return driver.Digest{}
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
		e.Field, e.Offset = s.Field, s.Offset
	}
	computed := checksum.Hex(s.Kind, got)
	recorded := checksum.Hex(s.Kind, s.Want)
	e.Err = fmt.Errorf("%w: the data has %v %s, the file records %s", tensor.ErrChecksum, s.Kind, computed, recorded)
	return e
}

// Signed implements driver.Verification.
func (v *verification) Signed(byTrusted bool) {
	v.coverage.signature = SignatureUnknown
	if byTrusted {
		v.coverage.signature = SignatureTrusted
	}
}

// Deferred implements driver.Verification.
func (v *verification) Deferred(s driver.Space) bool {
	return v.m.spaces.known(s) && v.m.spaces.files[s].region.Load() == nil
}

// Context implements driver.Verification.
func (v *verification) Context() context.Context { return v.ctx }

// Trusted implements driver.Verification.
func (v *verification) Trusted() crypto.PublicKey { return v.key }

// isWhole reports whether every tensor is verified.
func (v *verification) isWhole() bool { return v.wanted == nil }

// Wanted implements driver.Verification.
func (v *verification) Wanted(i int) bool { return v.wanted == nil || v.wanted[i] }

// Each implements driver.Verification.
func (v *verification) Each(n int, f func(i int) error) error {
	return work.Each(v.ctx, n, v.workers(), f)
}
