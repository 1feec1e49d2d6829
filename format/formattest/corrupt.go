package formattest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

const (
	smallFile = 8 << 10 // up to this size every byte is tested
	sampled   = 3000    // about the number of positions tested in larger files
)

// positions returns the indices below n to test: all in a small file, otherwise those in the
// structural ranges, the end, and a sample of the rest.
func (x *subject) positions(n int) []int {
	var at []int
	thin := thinned()
	step := thin
	if n > smallFile {
		step = max(thin, n/sampled)
		for _, r := range x.structural() {
			for i := r.From; i < min(r.To, r.From+sampled); i += thin {
				at = append(at, i)
			}
		}
	}
	for i := 0; i < n; i += step {
		at = append(at, i)
	}
	for i := max(0, n-64); i < n; i++ {
		at = append(at, i)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// thinned returns the step between tested bytes: 1, or 7 in short mode and under the race detector,
// which finds nothing in a single goroutine.
func thinned() int {
	if testing.Short() || testhost.Race {
		return 7
	}
	return 1
}

func (x *subject) structural() []Range {
	if x.s.Structural == nil {
		return nil
	}
	return x.s.Structural(x.file)
}

// truncation checks that a truncated file is detected.
func (x *subject) truncation(t *testing.T) {
	for _, n := range x.positions(len(x.file)) {
		x.mustNotice(t, x.file[:n:n], fmt.Sprintf("cut to %d of %d bytes", n, len(x.file)), x.cfg.Trailing)
		if t.Failed() {
			return
		}
	}
}

// appended checks that bytes after the end are detected, or ignored if Config.Trailing is set.
func (x *subject) appended(t *testing.T) {
	for _, n := range []int{1, 4, 8, 64, 4096} {
		for _, with := range []byte{0, 0xff} {
			b := append(slices.Clone(x.file), bytes.Repeat([]byte{with}, n)...)
			x.mustNotice(t, b, fmt.Sprintf("%d bytes %#x after the end", n, with), x.cfg.Trailing)
		}
	}
	x.mustNotice(t, append(slices.Clone(x.file), x.file...), "the file twice", x.cfg.Trailing)
}

// bitFlips checks that a flipped bit in the structure is detected or harmless.
func (x *subject) bitFlips(t *testing.T) {
	ranges := x.structural()
	if ranges == nil {
		t.Skip("the sample names no range that checks cover")
	}
	total, thin := 0, thinned()
	for _, r := range ranges {
		if r.From < 0 || r.From > r.To || r.To > len(x.file) {
			t.Fatalf("range %v of a file of %d bytes", r, len(x.file))
		}
		total += r.To - r.From
	}
	b := slices.Clone(x.file)
	rnd := rand.New(rand.NewPCG(7, 7))
	for _, r := range ranges {
		for i := r.From; i < r.To; i += thin {
			for bit := range 8 {
				// In a large part, test one bit of each byte.
				if total > 4096 && bit != i%8 || total > 1<<16 && rnd.IntN(total>>14) != 0 {
					continue
				}
				b[i] ^= 1 << bit
				x.mustNotice(t, b, fmt.Sprintf("bit %d of byte %#x flipped", bit, i), true)
				b[i] ^= 1 << bit
				if t.Failed() {
					return
				}
			}
		}
	}
}

// mustNotice checks that opening or verifying a damaged file fails, or, if harmless is set, that
// the model is unchanged.
func (x *subject) mustNotice(t *testing.T, b []byte, what string, harmless bool) {
	t.Helper()
	survives(t, what, func() {
		m, err := x.codec.OpenBytes(b, x.s.Options)
		if err != nil {
			x.checkErr(t, what, err)
			return
		}
		defer m.Close()
		_, err = m.Verify(context.Background(), format.WithWorkers(1))
		if err != nil && !(x.s.VerifyErr != nil && errors.Is(err, x.s.VerifyErr)) {
			x.checkErr(t, what+": Verify", err)
			return
		}
		got, err := x.take(m, false)
		if err != nil {
			t.Errorf("%s: verified, but reading fails: %v", what, err)
			return
		}
		if d := x.diff(x.base, got); d != "" {
			t.Errorf("%s: not detected, and the model differs: %s", what, d)
		} else if !harmless {
			t.Errorf("%s: not detected", what)
		}
	})
}

// hostile checks that no input panics, with valid checksums or not.
func (x *subject) hostile(t *testing.T) { x.sweep(t) }

// overlap checks that no two tensors share bytes, even in a damaged file that opens.
func (x *subject) overlap(t *testing.T) { x.report(t, func(p *places) string { return p.overlap }) }

// holes checks that gaps between tensors are no larger than alignment requires.
func (x *subject) holes(t *testing.T) { x.report(t, func(p *places) string { return p.hole }) }

// report fails with what the damaged files showed.
func (x *subject) report(t *testing.T, of func(*places) string) {
	p := x.sweep(t)
	if text := of(p); text != "" {
		t.Error(text)
	} else if !p.several {
		t.Skip("needs two plain tensors in the file")
	}
}

// sweep probes the file with each byte replaced, without verifying checksums, and with random
// damage. It does so once for a sample.
func (x *subject) sweep(t *testing.T) *places {
	if x.places != nil {
		return x.places
	}
	x.places = &places{gap: max(x.cfg.Align, 8)}
	o := x.with(func(o *format.Options) { o.Check = format.CheckStructure })
	b := slices.Clone(x.file)
	probe := func(what string, i int) {
		what = fmt.Sprintf("%s at %#x", what, i)
		survives(t, what, func() { x.probe(t, b, o, what) })
	}
	probe("no damage", 0)
	for _, i := range x.positions(len(b)) {
		old := b[i]
		for _, v := range []byte{^old, old ^ 1<<(i%6), old ^ 0x40, old ^ 0x80, 0xff} {
			if v != old {
				b[i] = v
				probe(fmt.Sprintf("byte %#x for %#x", v, old), i)
			}
		}
		b[i] = old
		if t.Failed() {
			return x.places
		}
	}
	r := rand.New(rand.NewPCG(11, 5))
	for range 300 {
		b = append(b[:0], x.file...)
		for range 1 + r.IntN(4) {
			if len(b) > 0 {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
		}
		if r.IntN(3) == 0 {
			b = b[:r.IntN(len(b)+1)]
		}
		probe("random bytes", 0)
	}
	return x.places
}

// probe opens b and reads everything. It checks only the form of errors and the places of tensors.
func (x *subject) probe(t *testing.T, b []byte, o *format.Options, what string) {
	t.Helper()
	m, err := x.codec.OpenBytes(b, o)
	if err != nil {
		x.checkErr(t, "open", err)
		return
	}
	defer m.Close()
	if x.places != nil {
		x.places.look(m, what)
	}
	Walk(m)
}

// places describes the first overlap and the first gap between tensors, "" for none.
type places struct {
	overlap, hole string
	several       bool  // a file had at least two tensors to compare
	gap           int64 // the smallest gap that alignment does not explain
}

// look searches a model for overlaps and gaps.
func (p *places) look(m *format.Model, what string) {
	var list []tensor.Info
	for _, v := range m.Tensors() {
		if info := v.Info(); info.Offset >= 0 && info.Stored > 0 {
			list = append(list, info)
		}
	}
	slices.SortFunc(list, func(a, b tensor.Info) int { return cmp.Compare(a.Offset, b.Offset) })
	p.several = p.several || len(list) > 1
	for i := 1; i < len(list); i++ {
		a, b := &list[i-1], &list[i]
		end := a.Offset + a.Stored
		if b.Offset < end && p.overlap == "" {
			p.overlap = fmt.Sprintf("with %s the file opens, and tensors %q (%#x to %#x) and %q (from %#x) share bytes", what, a.Name, a.Offset, end, b.Name, b.Offset)
		}
		if b.Offset-end >= p.gap && p.hole == "" {
			p.hole = fmt.Sprintf("with %s the file opens, with a hole of %d bytes between tensors %q and %q", what, b.Offset-end, a.Name, b.Name)
		}
	}
}

// words are counts and sizes written over fields, most of them too large.
var words = [][]byte{
	{0xff, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0x7f}, {0, 0, 0x10, 0}, {0, 0x40, 0, 0},
	binary.LittleEndian.AppendUint64(nil, 1<<64-1), binary.LittleEndian.AppendUint64(nil, 1<<62),
	binary.LittleEndian.AppendUint64(nil, 1<<40), binary.LittleEndian.AppendUint64(nil, 1<<24),
}

// bounded checks that opening allocates no more than a small multiple of the file's size, even if
// its fields claim more.
func (x *subject) bounded(t *testing.T) {
	budget := uint64(256<<10+16*len(x.file)) + uint64(x.s.Slack)
	b := slices.Clone(x.file)
	for _, check := range []format.Check{format.CheckStructure, format.CheckDefault} {
		o := x.with(func(o *format.Options) { o.Check = check })
		for _, i := range x.positions(len(b)) {
			for _, w := range words {
				n := copy(b[i:], w)
				got := x.openCost(budget, b, o)
				copy(b[i:i+n], x.file[i:])
				if got > budget {
					t.Fatalf("% x at %#x of %d bytes: opening allocates %d bytes", w, i, len(b), got)
				}
			}
			if check == format.CheckDefault && i > 256 {
				break // a checksum fails before later fields are parsed
			}
		}
	}
	for _, size := range []int64{int64(len(b)) + 1, 1 << 30, 1 << 50, 1<<63 - 1} {
		got := cost(budget, func() {
			if m, err := x.codec.OpenReaderAt(&failing{b: b, left: 1 << 30}, size, x.s.Options); err == nil {
				m.Close()
			}
		})
		if got > budget {
			t.Errorf("a reader that claims %d bytes: opening allocates %d", size, got)
		}
	}
}

// openCost returns the number of bytes that opening b allocates.
func (x *subject) openCost(budget uint64, b []byte, o *format.Options) uint64 {
	return cost(budget, func() {
		if m, err := x.codec.OpenBytes(b, o); err == nil {
			m.Close()
		}
	})
}

// brokenDisk checks that the error of any failing read reaches the caller.
func (x *subject) brokenDisk(t *testing.T) {
	for n := 0; ; n++ {
		src := &failing{b: x.file, left: n}
		m, err := x.codec.OpenReaderAt(src, int64(len(x.file)), x.s.Options)
		if err == nil {
			_, err = x.take(m, false)
			if err == nil {
				err = x.verified(m)
			}
			m.Close()
		}
		if src.left >= 0 { // no read failed
			if err != nil {
				t.Errorf("without a failure: %v", err)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Fatalf("read %d fails: %v", n, err)
		}
		if n > 100 {
			n += n / 4
		}
	}
}

// failing is a reader with fewer bytes than its claimed size, or one that fails after some reads.
// Verification may read from several goroutines.
type failing struct {
	b    []byte
	mu   sync.Mutex
	left int // reads left before it fails
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left < 0 || off < 0 || off >= int64(len(f.b)) {
		return 0, errDisk
	}
	if n := copy(p, f.b[off:]); n < len(p) {
		return n, errDisk
	}
	return len(p), nil
}

var errDisk = errors.New("the disk is on fire")
