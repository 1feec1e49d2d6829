package formattest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// accessors are all ways to a view's bytes.
var accessors = []struct {
	name string
	call func(v tensor.View) error
}{
	{"Bytes", func(v tensor.View) error { _, err := v.Bytes(); return err }},
	{"Use", func(v tensor.View) error { return v.Use(func(b []byte) error { sum(b); return nil }) }},
	{"ReadInto", func(v tensor.View) error { _, err := v.ReadInto(make([]byte, v.Info().Size)); return err }},
	{"ReadAt", func(v tensor.View) error { _, err := v.ReadAt(make([]byte, v.Info().Size), 0); return err }},
	{"Clone", func(v tensor.View) error { _, err := v.Clone(); return err }},
	{"Digest", func(v tensor.View) error { _, err := v.Digest(); return err }},
	{"As", asOwn},
	{"Decode", decodeOwn},
	{"Slice", func(v tensor.View) error {
		if e := v.Info().Encoding; e != nil && e.BlockBytes == 0 {
			_, err := v.Bytes() // it cannot be sliced
			return err
		}
		s, err := v.Slice()
		if err == nil {
			_, err = s.Bytes()
		}
		return err
	}},
}

// sum touches every byte, and lets the compiler believe that it matters.
func sum(b []byte) {
	n := int64(0)
	for _, x := range b {
		n += int64(x)
	}
	summed.Store(n)
}

var summed atomic.Int64

// asOwn is As with a Go type that fits every dtype's size.
func asOwn(v tensor.View) error {
	var err error
	switch d := v.DType(); {
	case d == tensor.Invalid && v.Info().Encoding == nil: // a view that came with an error
		_, err = tensor.As[float32](v)
	case d == tensor.Float32:
		_, err = tensor.As[float32](v)
	case d == tensor.Float64:
		_, err = tensor.As[float64](v)
	case d == tensor.Int32:
		_, err = tensor.As[int32](v)
	case d == tensor.Uint8, d == tensor.Bool:
		_, err = tensor.As[uint8](v)
	default:
		_, err = v.Bytes()
	}
	if errors.Is(err, tensor.ErrByteOrder) && swapped(v.DType()) {
		_, err = v.Bytes() // that is all there is here
	}
	return err
}

// swapped tells whether elements of d are in another byte order than the host's.
func swapped(d tensor.DType) bool { return !memory.LittleEndian && d.Size() > 1 }

// decodeOwn decodes any dtype.
func decodeOwn(v tensor.View) error {
	if v.DType() == tensor.Complex64 {
		_, err := tensor.Decode[complex64](nil, v)
		return err
	}
	if v.Info().Quant != nil || v.Info().Encoding != nil {
		// Real values need sound parameters or a decoder; the bytes do not.
		_, err := v.Clone()
		return err
	}
	_, err := tensor.Decode[float64](nil, v)
	return err
}

// afterClose: everything that can fail answers ErrClosed, nothing touches the
// memory, and a second Close is nothing.
func (x *subject) afterClose(t *testing.T) {
	for _, way := range x.ways(x.file, x.s.Options) {
		m, err := way.open(t)
		if err != nil {
			t.Fatal(err)
		}
		x.closeAndUse(t, way.name, m)
	}
	// In debug mode the memory faults, so these would not survive a lazy reader.
	x.closeAndUse(t, "debug", x.mapped(t))
	m := x.mapped(t)
	if _, err := x.take(m, true); err != nil {
		t.Fatal(err)
	}
	before := m.Metadata()
	want := cloneMetadata(before)
	x.closeAndUse(t, "debug, read before", m)
	survives(t, "Metadata that was read before Close", func() {
		// The copy is made here, where a fault is caught.
		if got := cloneMetadata(before); !cmp.Equal(want, got, compared) {
			t.Error("Metadata changes with Close")
		}
	})
}

func (x *subject) closeAndUse(t *testing.T, what string, m model) {
	t.Helper()
	var views []tensor.View
	for _, v := range m.Tensors() {
		views = append(views, v)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Errorf("%s: Close: %v", what, err)
		}
	}
	closed := func(name string, f func() error) {
		survives(t, what+": "+name+" after Close", func() {
			if err := f(); !errors.Is(err, format.ErrClosed) {
				t.Errorf("%s: %s after Close = %v", what, name, err)
			}
		})
	}
	for _, v := range views {
		for _, a := range accessors {
			closed(fmt.Sprintf("%s of %q", a.name, v.Name()), func() error { return a.call(v) })
		}
		closed("Tensor", func() error { _, err := m.Tensor(v.Name()); return err })
		closed("Bytes of a view taken late", func() error {
			late, _ := m.Tensor(v.Name())
			_, err := late.Bytes()
			return err
		})
	}
	closed("a tensor that never was", func() error { _, err := m.Tensor("no such tensor"); return err })
	closed("Verify", func() error { _, err := m.Verify(context.Background()); return err })
	closed("Do", func() error { return m.Do(func() error { return nil }) })
	closed("Pin", func() error { _, err := m.Pin(); return err })
	closed("Prefetch", m.Prefetch)
	closed("Evict", m.Evict)
	survives(t, what+": after Close", func() { x.quietly(t, what+", closed", m, format.ErrClosed) })
}

// quietly calls what has no error to return, and Graph, which may know its
// answer already and otherwise gives the one error that is expected.
func (x *subject) quietly(t *testing.T, what string, m model, expected error) {
	_, _, _, _ = m.Format(), m.Version(), m.Len(), m.Metadata()
	_, _, _, _ = m.Notes(), m.Signature(), m.NeedsKey(), m.Stats()
	if _, err := m.Graph(); err != nil && !errors.Is(err, expected) {
		t.Errorf("%s: Graph = %v, want %v", what, err, expected)
	}
}

// closeWaits: Close returns only when a Use that came before has.
func (x *subject) closeWaits(t *testing.T) {
	big, ok := x.largest()
	if !ok {
		t.Skip("takes a tensor with bytes")
	}
	m := x.mapped(t)
	v, err := x.named(m, big.Name)
	if err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var closing sync.WaitGroup
	err = v.Use(func(b []byte) error {
		closing.Go(func() {
			m.Close()
			done.Store(true)
		})
		for { // until Close began
			unpin, err := m.Pin()
			if err != nil {
				break
			}
			unpin()
			runtime.Gosched()
		}
		for range 100 {
			runtime.Gosched()
		}
		if done.Load() {
			t.Error("Close returned within Use")
		}
		if !bytes.Equal(b, x.base.Data[big.Name]) {
			t.Error("the bytes changed within Use")
		}
		return nil
	})
	if err != nil {
		t.Errorf("Use: %v", err)
	}
	closing.Wait()
}

// concurrent: many readers, and Close in their midst.
func (x *subject) concurrent(t *testing.T) {
	const readers, rounds = 4, 20
	m := x.mapped(t)
	var views []tensor.View
	for _, v := range m.Tensors() {
		views = append(views, v)
	}
	warm := make(chan struct{}, readers)
	var group sync.WaitGroup
	for g := range readers {
		group.Go(func() {
			for i := 0; ; i++ {
				if i == rounds {
					warm <- struct{}{}
				}
				err := x.once(m, views, g+i)
				if errors.Is(err, format.ErrClosed) && i > 0 {
					if i < rounds {
						warm <- struct{}{}
					}
					return
				}
				if err != nil {
					t.Errorf("reader %d, round %d: %v", g, i, err)
					if i < rounds {
						warm <- struct{}{}
					}
					return
				}
				runtime.Gosched() // where nothing preempts, whoever closes gets no turn otherwise
			}
		})
	}
	for range readers {
		<-warm
	}
	for range 2 {
		group.Go(func() {
			m.Close()
		})
	}
	group.Wait()
}

// once does one thing of many with an open model.
func (x *subject) once(m model, views []tensor.View, i int) error {
	if len(views) == 0 || i%7 == 0 {
		return x.stillOpen(m)
	}
	v := views[i%len(views)]
	want := x.base.Data[x.nameOf(v.Name(), true)]
	switch i % 5 {
	case 0:
		unpin, err := m.Pin()
		if err != nil {
			return err
		}
		defer unpin()
		b, err := v.Bytes()
		if err == nil && !bytes.Equal(b, want) {
			err = fmt.Errorf("tensor %q: Bytes differ", v.Name())
		}
		return err
	case 1:
		return v.Use(func(b []byte) error {
			if !bytes.Equal(b, want) {
				return fmt.Errorf("tensor %q: Use differs", v.Name())
			}
			return nil
		})
	case 2:
		c, err := v.Clone()
		if err != nil {
			return err
		}
		b, err := c.Bytes()
		if err == nil && !bytes.Equal(b, want) {
			err = fmt.Errorf("tensor %q: Clone differs", v.Name())
		}
		return err
	}
	return accessors[i/7%len(accessors)].call(v)
}

// stillOpen asks for what is not the bytes of a tensor.
func (x *subject) stillOpen(m model) error {
	if _, err := m.Graph(); err != nil {
		return err
	}
	m.Metadata()
	_, _, _ = m.Notes(), m.Signature(), m.Stats()
	if err := errors.Join(m.Prefetch(), m.Evict()); err != nil {
		return err
	}
	if err := m.Do(func() error { return nil }); err != nil {
		return err
	}
	_, err := m.Verify(context.Background(), format.WithWorkers(1))
	if x.s.VerifyErr != nil && errors.Is(err, x.s.VerifyErr) {
		return nil
	}
	return err
}

// pin: raw slices stay valid across Close until the last unpin.
func (x *subject) pin(t *testing.T) {
	m := x.mapped(t)
	raw := map[string][]byte{}
	for name, v := range m.Tensors() {
		b, err := v.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		raw[name] = b
	}
	first, err := m.Pin()
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Pin()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("Close while pinned: %v", err)
	}
	first()
	first() // counts once
	survives(t, "reading pinned bytes after Close", func() {
		for name, b := range raw {
			if !bytes.Equal(b, x.base.Data[x.nameOf(name, true)]) {
				t.Errorf("tensor %q changed while it was pinned", name)
			}
		}
	})
	if _, err := m.Pin(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("Pin after Close = %v", err)
	}
	second()
}

// concurrentDamage: damaged, emptied and failing files answer many goroutines, and
// Close in their midst, with errors alone. The race detector looks at the rest.
func (x *subject) concurrentDamage(t *testing.T) {
	o := func(c format.Check) *format.Options { return x.with(func(o *format.Options) { o.Check = c }) }
	b := slices.Clone(x.file)
	if len(b) > 0 {
		// What breaks data where there is a tensor, and the structure otherwise.
		at := int64(len(b) / 2)
		m := x.openBytes(t, x.file)
		for _, e := range extents(m) {
			at = e.from
		}
		m.Close()
		b = x.flipped(at)
	}
	for _, check := range []format.Check{format.CheckDefault, format.CheckTouch} {
		if m, err := x.codec.OpenBytes(b, o(check)); err == nil {
			x.storm(t, "damaged bytes", m, nil)
		}
		if m, err := x.codec.OpenReaderAt(bytes.NewReader(b), int64(len(b)), o(check)); err == nil {
			x.storm(t, "damaged reader", m, nil)
		}
		src := &failing{b: x.file, left: 1 << 30}
		if m, err := x.codec.OpenReaderAt(src, int64(len(x.file)), o(check)); err == nil {
			src.fail()
			x.storm(t, "failing reader", m, nil)
		}
		if testhost.Cuts() != "" {
			continue
		}
		path := x.stored(t, x.file)
		if m, err := x.codec.Open(path, o(check)); err == nil {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
			x.storm(t, "emptied file", m, raw)
		}
	}
}

// storm uses m from many goroutines, and closes it. skip names the accessors
// that nothing guards.
func (x *subject) storm(t *testing.T, what string, m model, skip func(accessor string) bool) {
	const users, rounds = 4, 3
	var views []tensor.View
	for _, v := range m.Tensors() {
		views = append(views, v)
	}
	var group sync.WaitGroup
	for g := range users {
		group.Go(func() {
			for round := range rounds {
				if g == users-1 && round == rounds-1 {
					m.Close()
				}
				for i := range views {
					for _, a := range accessors {
						if skip == nil || !skip(a.name) {
							x.stormErr(t, what+": "+a.name, a.call(views[(g+i)%len(views)]))
						}
					}
				}
				_, err := m.Verify(context.Background())
				x.stormErr(t, what+": Verify", err)
				_, err = m.Graph()
				x.stormErr(t, what+": Graph", err)
				_, _, _, _, _ = m.Metadata(), m.Notes(), m.Signature(), m.NeedsKey(), m.Stats()
			}
		})
	}
	group.Wait()
}

// stormErr looks at an error, all of it, while others look too.
func (x *subject) stormErr(t *testing.T, what string, err error) {
	if err == nil || errors.Is(err, format.ErrClosed) || errors.Is(err, errDisk) && err.Error() != "" {
		return
	}
	x.checkErr(t, what, err)
}
