package formattest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// positions returns the indices below n to test: about 512 of them, or 8,192 if WEIGHTMAP_NIGHTLY
// is set. The step is odd, so that over records of four or eight bytes it comes to every byte of a
// field.
func positions(n int) (at []int) {
	sampled := 512
	if testhost.Nightly() && !testhost.Race { // the race detector finds nothing in a single goroutine
		sampled = 8 << 10
	}
	step := n/sampled | 1
	for i := 0; i < n; i++ {
		if i%step == 0 || i >= n-64 {
			at = append(at, i)
		}
	}
	return at
}

// truncation checks that a truncated file is detected.
func (x *subject) truncation(t *testing.T) {
	for _, n := range positions(len(x.file)) {
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
	if x.s.Structural == nil {
		t.Skip("the sample names no range that checks cover")
	}
	b := slices.Clone(x.file)
	for _, r := range x.s.Structural(x.file) {
		for _, i := range positions(r.To - r.From) {
			i += r.From
			for bit := range 8 {
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
		m, err := format.OpenBytes(b, x.s.Options.With(x.cfg.Format))
		if err == nil {
			defer m.Close()
			_, err = m.Verify(context.Background(), &format.VerifyOptions{Workers: 1})
		}
		if err != nil {
			x.checkErr(t, what, err)
			return
		}
		if x.differs(t, what, m); !harmless {
			t.Errorf("%s: not detected", what)
		}
	})
}

// hostile checks that no input panics, with valid checksums or not.
func (x *subject) hostile(t *testing.T) { x.damage(t, func(_ string, m *format.Model) { Walk(m) }) }

// overlap checks that no two tensors share bytes, even in a damaged file that opens.
func (x *subject) overlap(t *testing.T) {
	several := false
	x.damage(t, func(what string, m *format.Model) {
		var list []tensor.Info
		for _, v := range m.Tensors() {
			if info := v.Info(); info.Offset >= 0 && info.Stored > 0 {
				list = append(list, info)
			}
		}
		slices.SortFunc(list, func(a, b tensor.Info) int { return cmp.Compare(a.Offset, b.Offset) })
		for i := range max(0, len(list)-1) {
			a := &list[i]
			b := &list[i+1]
			if several = true; b.Offset < a.Offset+a.Stored {
				t.Fatalf("with %s the file opens, and tensors %q and %q share bytes", what, a.Name, b.Name)
			}
		}
	})
	if !several {
		t.Skip("needs two plain tensors in the file")
	}
}

// damage calls f with the file, and with each damaged one that opens: each byte is replaced, and
// then several at random. It checks the form of errors.
func (x *subject) damage(t *testing.T, f func(what string, m *format.Model)) {
	o := x.checking(format.CheckStructure)
	b := slices.Clone(x.file)
	probe := func(what string, i int) {
		what = fmt.Sprintf("%s at %#x", what, i)
		survives(t, what, func() { x.opened(t, b, o, func(m *format.Model) { f(what, m) }) })
	}
	probe("no damage", 0)
	for _, i := range positions(len(b)) {
		old := b[i]
		for _, v := range []byte{^old, old ^ 1<<(i%6), old ^ 0x40, old ^ 0x80, 0xff} {
			b[i] = v
			probe(fmt.Sprintf("byte %#x for %#x", v, old), i)
		}
		b[i] = old
		if t.Failed() {
			return
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
	bound := func(what string, open func() (*format.Model, error)) {
		got := cost(budget, func() {
			if m, err := open(); err == nil {
				m.Close()
			}
		})
		if got > budget {
			t.Fatalf("%s, of %d bytes: opening allocates %d bytes", what, len(x.file), got)
		}
	}
	b := slices.Clone(x.file)
	for _, check := range []format.Check{format.CheckStructure, format.CheckDefault} {
		o := x.checking(check)
		for _, i := range positions(len(b)) {
			if check == format.CheckDefault && i > 256 {
				break // a checksum fails before later fields are parsed
			}
			for _, w := range words {
				n := copy(b[i:], w)
				bound(fmt.Sprintf("% x at %#x", w, i), func() (*format.Model, error) { return format.OpenBytes(b, o.With(x.cfg.Format)) })
				copy(b[i:i+n], x.file[i:])
			}
		}
	}
	for _, size := range []int64{int64(len(b)) + 1, 1 << 30, 1 << 50, 1<<63 - 1} {
		bound(fmt.Sprintf("a reader that claims %d bytes", size), func() (*format.Model, error) {
			return format.OpenReaderAt(&failing{b, nil}, size, x.s.Options.With(x.cfg.Format))
		})
	}
}
