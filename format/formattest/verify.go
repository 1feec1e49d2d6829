package formattest

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// verify: verification reports progress, can be canceled, and does not take
// an unsigned file for a signed one.
func (x *subject) verify(t *testing.T) {
	m := x.openBytes(t, x.file)
	defer m.Close()
	checkProgress(t, func(p format.Progress) error { return x.verified(m, format.WithProgress(p)) }, x.s.VerifyErr == nil)
	if err := x.verified(m, format.WithWorkers(3), format.WithTensors(tensorNames(m)...)); err != nil {
		t.Errorf("Verify of all tensors by name: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify with a canceled context = %v", err)
	}
	x.trust(t, m)
	if x.s.VerifyErr != nil {
		return
	}
	all, err := x.codec.OpenBytes(x.file, x.with(func(o *format.Options) { o.Check = format.CheckAll }))
	if err != nil {
		t.Fatalf("opening with CheckAll: %v", err)
	}
	all.Close()
}

// trust: only a signature by the trusted key passes for one.
func (x *subject) trust(t *testing.T, m *format.Model) {
	key, _, _ := ed25519.GenerateKey(nil)
	_, err := m.Verify(context.Background(), format.WithTrustedKey(key))
	if !errors.Is(err, format.ErrSignature) && (x.s.VerifyErr == nil || !errors.Is(err, x.s.VerifyErr)) {
		t.Errorf("Verify with a key that signed nothing = %v", err)
	}
	c, err := m.Verify(context.Background())
	if err != nil {
		return
	}
	if signed := m.Signature() != nil; signed != (c.Signature() != format.Unsigned) || c.Signature() == format.SignatureTrusted {
		t.Errorf("without a trusted key, of a file signed %v, the signature is said to be %v", signed, c.Signature())
	}
}

// tensorNames lists the names of an open model.
func tensorNames(m *format.Model) []string {
	var list []string
	for name := range m.Tensors() {
		list = append(list, name)
	}
	return list
}

// checkProgress runs f and looks at its reports: they do not overlap, never go
// back, keep to one total, and end there.
func checkProgress(t *testing.T, f func(format.Progress) error, complete bool) {
	t.Helper()
	var inside atomic.Int32
	var last, total int64 = 0, -1
	err := f(func(done, all int64, _ string) {
		if inside.Add(1) != 1 {
			t.Error("two reports of progress overlap")
		}
		defer inside.Add(-1)
		if done < last || done > all || total >= 0 && all != total {
			t.Errorf("progress goes from %d of %d to %d of %d", last, total, done, all)
		}
		last, total = done, all
	})
	if err != nil {
		t.Errorf("with a progress report: %v", err)
	}
	if complete && total >= 0 && last != total {
		t.Errorf("progress ends at %d of %d", last, total)
	}
}

// covered returns the tensors with bytes in the file that a sum covers.
func (x *subject) covered(t *testing.T) []tensor.Info {
	if x.s.VerifyErr != nil {
		t.Skip("the sample does not verify")
	}
	m := x.openBytes(t, x.file)
	defer m.Close()
	c, err := m.Verify(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var list []tensor.Info
	for part := range c.Tensors() {
		v, err := m.Tensor(part.Name)
		if info := v.Info(); err == nil && part.By != "" && info.Offset >= 0 && info.Stored > 0 {
			list = append(list, info)
		}
	}
	if len(list) == 0 {
		t.Skip("no sum covers the data of a tensor where that is in the file")
	}
	return list
}

// flipped returns the file with one bit changed.
func (x *subject) flipped(at int64) []byte {
	b := slices.Clone(x.file)
	b[at] ^= 1 << (at % 8)
	return b
}

// coveredData: of a tensor that a sum is said to cover a changed bit is noticed,
// also when it is verified alone.
func (x *subject) coveredData(t *testing.T) {
	for _, info := range x.covered(t) {
		for _, at := range []int64{info.Offset, info.Offset + info.Stored/2, info.Offset + info.Stored - 1} {
			m, err := x.codec.OpenBytes(x.flipped(at), x.s.Options)
			if err != nil {
				x.checkErr(t, "open", err)
				continue
			}
			for what, opts := range map[string][]format.VerifyOption{"Verify": nil, "Verify of it alone": {format.WithTensors(info.Name)}} {
				if _, err := m.Verify(context.Background(), opts...); err == nil {
					t.Errorf("%s does not notice a changed bit at %#x of tensor %q, which is said to be covered", what, at, info.Name)
				} else {
					x.checkErr(t, what, err)
				}
			}
			m.Close()
		}
	}
}

// checkTouch: with CheckTouch a checksum that covers data is compared before its first use.
func (x *subject) checkTouch(t *testing.T) {
	list := x.covered(t)
	touch := x.with(func(o *format.Options) { o.Check = format.CheckTouch })
	m, err := x.codec.OpenBytes(x.file, touch)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for range 2 {
		if got, err := x.take(m, false); err != nil || x.diff(x.base, got) != "" {
			t.Errorf("the intact file with CheckTouch: %v, or other data", err)
		}
	}
	for _, info := range []tensor.Info{list[0], list[len(list)-1]} {
		m, err := x.codec.OpenBytes(x.flipped(info.Offset+info.Stored/2), touch)
		if err != nil {
			x.checkErr(t, "open", err)
			continue
		}
		for _, again := range []string{"", " again"} {
			v, err := m.Tensor(info.Name)
			if err == nil {
				_, err = v.Bytes()
			}
			if err == nil {
				t.Errorf("with CheckTouch the bytes of tensor %q, of which a bit changed, can be had%s", info.Name, again)
			} else {
				x.checkErr(t, "Bytes"+again, err)
			}
		}
		m.Close()
	}
}

// layoutErrors says what became of the places of tensors when bits changed.
type layoutErrors struct {
	overlap, hole string // the first of its kind, "" for none
	several       bool   // there were two tensors at least to compare
}

// overlap: no two tensors share bytes, whatever the fields say.
func (x *subject) overlap(t *testing.T) {
	if l := x.layouts(); l.overlap != "" {
		t.Error(l.overlap)
	} else if !l.several {
		t.Skip("takes two tensors that are in the file as such")
	}
}

// holes: between tensors there is nothing but what alignment takes.
func (x *subject) holes(t *testing.T) {
	if l := x.layouts(); l.hole != "" {
		t.Error(l.hole)
	} else if !l.several {
		t.Skip("takes two tensors that are in the file as such")
	}
}

// layouts opens the file with every bit of its structure changed, and looks at
// the places of tensors in what opens without a look at sums.
func (x *subject) layouts() *layoutErrors {
	if x.layout != nil {
		return x.layout
	}
	l := &layoutErrors{}
	x.layout = l
	o := x.with(func(o *format.Options) { o.Check = format.CheckStructure })
	b := slices.Clone(x.file)
	l.look(x, b, o, "the intact file")
	for _, i := range x.fields() {
		for bit := range 8 {
			b[i] ^= 1 << bit
			l.look(x, b, o, fmt.Sprintf("with bit %d of byte %#x changed", bit, i))
			b[i] ^= 1 << bit
		}
	}
	return l
}

// fields returns the positions that may say where tensors are: those that no
// tensor takes.
func (x *subject) fields() []int {
	m, err := x.codec.OpenBytes(x.file, x.s.Options)
	if err != nil {
		return nil
	}
	defer m.Close()
	data := make([]bool, len(x.file))
	for _, e := range extents(m) {
		for i := e.from; i < e.to; i++ {
			data[i] = true
		}
	}
	return slices.DeleteFunc(x.positions(len(x.file)), func(i int) bool { return data[i] })
}

// extent is where a tensor is.
type extent struct {
	from, to int64
	name     string
}

// extents lists the places of tensors that are in the file, in their order.
func extents(m *format.Model) []extent {
	var list []extent
	for name, v := range m.Tensors() {
		if info := v.Info(); info.Offset >= 0 && info.Stored > 0 {
			list = append(list, extent{info.Offset, info.Offset + info.Stored, name})
		}
	}
	slices.SortFunc(list, func(a, b extent) int { return int(min(1, max(-1, a.from-b.from))) })
	return list
}

// look opens b and looks for overlaps and holes.
func (l *layoutErrors) look(x *subject, b []byte, o *format.Options, what string) {
	m, err := x.codec.OpenBytes(b, o)
	if err != nil {
		return
	}
	defer m.Close()
	list := extents(m)
	l.several = l.several || len(list) > 1
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if b.from < a.to && l.overlap == "" {
			l.overlap = fmt.Sprintf("%s the file opens, and tensors %q (%#x to %#x) and %q (from %#x) share bytes", what, a.name, a.from, a.to, b.name, b.from)
		}
		if b.from-a.to >= max(x.cfg.Align, 8) && l.hole == "" {
			l.hole = fmt.Sprintf("%s the file opens, with a hole of %d bytes between tensors %q and %q", what, b.from-a.to, a.name, b.name)
		}
	}
}
