package formattest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
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
	{"Clone", func(v tensor.View) error { _, err := v.Clone(); return err }},
	{"Digest", func(v tensor.View) error { _, err := v.Digest(); return err }},
	{"As", asOwn},
	{"Decode", decodeOwn},
	{"Slice", func(v tensor.View) error {
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
	switch v.DType() {
	case tensor.Float32:
		_, err = tensor.As[float32](v)
	case tensor.Float64:
		_, err = tensor.As[float64](v)
	case tensor.Int32:
		_, err = tensor.As[int32](v)
	case tensor.Uint8, tensor.Bool:
		_, err = tensor.As[uint8](v)
	default:
		_, err = v.Bytes()
	}
	return err
}

// decodeOwn decodes any dtype.
func decodeOwn(v tensor.View) error {
	if v.DType() == tensor.Complex64 {
		_, err := tensor.Decode[complex64](nil, v)
		return err
	}
	if v.Info().Quant != nil {
		// Real values need sound parameters; the bytes do not.
		_, err := v.Clone()
		return err
	}
	_, err := tensor.Decode[float64](nil, v)
	return err
}

// afterClose: everything that can fail answers ErrClosed, nothing touches the
// memory, and a second Close is nothing.
func (x *subject) afterClose(t *testing.T) {
	for _, way := range x.ways(x.file) {
		m, err := way.open(t)
		if err != nil {
			t.Fatal(err)
		}
		x.closeAndUse(t, way.name, m)
	}
	// In debug mode the memory faults, so these would not survive a lazy reader.
	x.closeAndUse(t, "debug", x.mapped(t))
	m := x.mapped(t)
	want, err := x.take(m, true)
	if err != nil {
		t.Fatal(err)
	}
	x.closeAndUse(t, "debug, read before", m)
	survives(t, "Metadata after Close", func() {
		// What was read before may be kept; if it is shown it must be right.
		if got := m.Metadata(); got != nil && !cmp.Equal(x.neutral(&format.Plan{Metadata: got}).Metadata, want.Plan.Metadata, compared) {
			t.Error("Metadata after Close differs from before")
		}
	})
}

func (x *subject) closeAndUse(t *testing.T, what string, m format.Model) {
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
		late, ok := m.Tensor(v.Name())
		if ok {
			closed("Bytes of a view taken late", func() error { _, err := late.Bytes(); return err })
		}
	}
	closed("Verify", func() error { return m.Verify(context.Background()) })
	closed("Pin", func() error { _, err := m.Pin(); return err })
	if p, ok := m.(format.Prefetcher); ok {
		closed("Prefetch", p.Prefetch)
	}
	survives(t, what+": after Close", func() { x.quietly(t, what+", closed", m, format.ErrClosed) })
}

// quietly calls what has no error to return, and Graph, which may know its
// answer already and otherwise gives the one error that is expected.
func (x *subject) quietly(t *testing.T, what string, m format.Model, expected error) {
	_, _, _, _ = m.Format(), m.Version(), m.Len(), m.Metadata()
	if n, ok := m.(format.Noter); ok {
		n.Notes()
	}
	if s, ok := m.(format.Signer); ok {
		s.Signature()
	}
	if e, ok := m.(format.Encrypted); ok {
		e.Locked()
	}
	if g, ok := m.(format.Grapher); ok {
		if _, err := g.Graph(); err != nil && !errors.Is(err, expected) {
			t.Errorf("%s: Graph = %v, want %v", what, err, expected)
		}
	}
}

// closeWaits: Close returns only when a Use that came before has.
func (x *subject) closeWaits(t *testing.T) {
	big, ok := x.largest()
	if !ok {
		t.Skip("takes a tensor with bytes")
	}
	m := x.mapped(t)
	v, ok := m.Tensor(big.Name)
	if !ok {
		t.Fatalf("no tensor %q", big.Name)
	}
	var done atomic.Bool
	var closing sync.WaitGroup
	err := v.Use(func(b []byte) error {
		closing.Add(1)
		go func() {
			defer closing.Done()
			m.Close()
			done.Store(true)
		}()
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
		group.Add(1)
		go func() {
			defer group.Done()
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
			}
		}()
	}
	for range readers {
		<-warm
	}
	for range 2 {
		group.Add(1)
		go func() {
			defer group.Done()
			m.Close()
		}()
	}
	group.Wait()
}

// once does one thing of many with an open model.
func (x *subject) once(m format.Model, views []tensor.View, i int) error {
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
	return accessors[i%len(accessors)].call(v)
}

// stillOpen verifies, and looks at the graph and the metadata.
func (x *subject) stillOpen(m format.Model) error {
	if g, ok := m.(format.Grapher); ok {
		if _, err := g.Graph(); err != nil {
			return err
		}
	}
	m.Metadata()
	err := m.Verify(context.Background(), format.WithWorkers(1))
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
			if !bytes.Equal(b, x.base.Data[name]) {
				t.Errorf("tensor %q changed while it was pinned", name)
			}
		}
	})
	if _, err := m.Pin(); !errors.Is(err, format.ErrClosed) {
		t.Errorf("Pin after Close = %v", err)
	}
	second()
}
