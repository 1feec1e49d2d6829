package format

import (
	"cmp"
	"context"
	"crypto"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/work"
)

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

func (v *verification) workers() int { return workersOf(v.o.Workers) }

// maxJob is the maximum size of a job of several neighbors. From a reader, Verify reads more at a
// time.
const maxJob = 2 << 20

// tensorSum returns the checksum of tensor i, of kind NoSum if there is none.
func (v *verification) tensorSum(i int) driver.Digest {
	if v.m.parsed.TensorSum != nil {
		return v.m.parsed.TensorSum(i)
	}
	return driver.Digest{}
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
