package mobile

import (
	"bytes"
	"runtime"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/memory"
)

// uses is every call that needs the model's data.
var uses = []struct {
	name string
	use  func(m *Model, x *Tensor) error
}{
	{"MetadataJSON", func(m *Model, _ *Tensor) error { _, err := m.MetadataJSON(); return err }},
	{"GraphJSON", func(m *Model, _ *Tensor) error { _, err := m.GraphJSON(); return err }},
	{"Tensor", func(m *Model, _ *Tensor) error { _, err := m.Tensor(0); return err }},
	{"TensorNamed", func(m *Model, x *Tensor) error { _, err := m.TensorNamed("fc.weight"); return err }},
	{"Prefetch", func(m *Model, _ *Tensor) error { return m.Prefetch() }},
	{"Verify", func(m *Model, _ *Tensor) error { _, err := m.Verify(nil, nil); return err }},
	{"CopyTo", func(_ *Model, x *Tensor) error { _, err := x.CopyTo(make([]byte, 64)); return err }},
	{"CopyRangeTo", func(_ *Model, x *Tensor) error { _, err := x.CopyRangeTo(make([]byte, 64), 0); return err }},
	{"Bytes", func(_ *Model, x *Tensor) error { _, err := x.Bytes(); return err }},
	{"Float32At", func(_ *Model, x *Tensor) error { _, err := x.Float32At(0); return err }},
	{"CopyFloat32To", func(_ *Model, x *Tensor) error { _, err := x.CopyFloat32To(make([]byte, 64)); return err }},
	{"Float32Bytes", func(_ *Model, x *Tensor) error { _, err := x.Float32Bytes(); return err }},
	{"Pin", func(m *Model, _ *Tensor) error {
		p, err := m.Pin()
		if err == nil {
			p.Unpin()
		}
		return err
	}},
	{"Address", func(_ *Model, x *Tensor) error { _, err := x.Address(); return err }},
}

func TestUses(t *testing.T) {
	file, _ := sample(t)
	path := save(t, "m.mag", file)
	m, err := Open(path, nil)
	expect.OK(t, err)
	x := get(t, m, "fc.weight")
	for _, u := range uses {
		if err := u.use(m, x); err != nil {
			t.Errorf("%s: %v", u.name, err)
		}
	}
	for range 2 {
		expect.OK(t, m.Close())
	}
	for _, u := range uses {
		if err := u.use(m, x); ErrorCode(err) != CodeClosed {
			t.Errorf("%s after Close: %v", u.name, err)
		}
	}
	if m.Format() != "mag" || m.TensorCount() != 2 || m.TensorName(1) != "ids" || x.Name() != "fc.weight" || x.ShapeAt(1) != 3 {
		t.Error("descriptions are gone after Close")
	}
	if name := m.Name(); name != "" {
		t.Errorf("Name after Close is %q", name)
	}
}

// TestEmpty uses what Java makes with new Model() and new Tensor().
func TestEmpty(t *testing.T) {
	m, x := new(Model), new(Tensor)
	for _, u := range uses {
		if err := u.use(m, x); ErrorCode(err) != CodeClosed && ErrorCode(err) != CodeIndex {
			t.Errorf("%s: %v", u.name, err)
		}
	}
	_, fromTensor := x.Float32At(0)
	_, fromModel := m.Tensor(0)
	for _, err := range []error{fromTensor, fromModel} {
		if ErrorCode(err) != CodeClosed {
			t.Error(err)
		}
	}
	if _, err := m.VerifySigned(nil, nil, nil); err == nil {
		t.Error("VerifySigned: no error")
	}
	if err := m.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	texts := m.Format() + m.Version() + m.Name() + m.TensorName(0) + m.Note(0) + x.Name() + x.Compression() + x.QuantScheme()
	numbers := m.TensorCount() + m.NoteCount() + x.ShapeRank() + x.Len() + x.ByteSize() + x.QuantCount()
	if texts != "" || numbers != 0 || m.NeedsKey() || x.ZeroCopy() || x.Quantized() {
		t.Errorf("an empty model says %q, %d", texts, numbers)
	}
	r := new(Report)
	if text := r.String() + r.Uncovered(0) + r.ChecksumOf("") + r.Signer(); text != "not verified" || r.Covered() || r.UncoveredCount() != 0 || r.Signature() != SignatureNone {
		t.Errorf("an empty report says %q", text)
	}
	if x.ShapeAt(0) != -1 || x.FileOffset() != -1 || x.QuantAxis() != -1 || x.DType() != "invalid" {
		t.Error("an empty tensor has a place")
	}
}

func TestAddress(t *testing.T) {
	m := kinds(t)
	for i := range m.TensorCount() {
		x, err := m.Tensor(i)
		expect.OK(t, err)
		at, err := x.Address()
		expect.OK(t, err)
		if (at == 0) != (x.ByteSize() == 0) {
			t.Errorf("%s: address %d of %d bytes", x.Name(), at, x.ByteSize())
		}
		b, err := x.view.Bytes() // a copy is kept by the model, so it is the same one
		expect.OK(t, err)
		if at != 0 && at != int64(memory.Address(b)) {
			t.Errorf("%s: %#x is not where its bytes are", x.Name(), at)
		}
		if again, err := get(t, m, x.Name()).Address(); again != at || err != nil {
			t.Errorf("%s: %#x the first time, then %#x, %v", x.Name(), at, again, err)
		}
	}
}

// TestAddressHoldsModel: only Close frees memory whose address is known
// outside, however unreachable the model is.
func TestAddressHoldsModel(t *testing.T) {
	held := func() (n int) {
		runtime.GC()
		lent.Range(func(any, any) bool { n++; return true })
		return n
	}
	before := held()
	m := kinds(t)
	_, err := get(t, m, "empty").Address()
	expect.OK(t, err)
	if n := held(); n != before {
		t.Errorf("%d models are held for an address of nothing", n-before)
	}
	for _, name := range []string{"lazy", "plain", "lazy"} {
		_, err := get(t, m, name).Address()
		expect.OK(t, err)
	}
	if n := held(); n != before+1 {
		t.Errorf("%d models are held, want 1", n-before)
	}
	expect.OK(t, m.Close())
	if n := held(); n != before {
		t.Errorf("%d models are held after Close", n-before)
	}
}

// TestPin: what a Pin holds is there after Close, and gone after Unpin.
func TestPin(t *testing.T) {
	file, want := sample(t)
	m, err := Open(save(t, "m.mag", file), &Options{Debug: true})
	expect.OK(t, err)
	pins := make([]*Pin, 2)
	for i := range pins {
		pins[i], err = m.Pin()
		expect.OK(t, err)
	}
	x := get(t, m, "fc.weight")
	_, err = x.Address()
	expect.OK(t, err)
	b, err := x.view.Bytes()
	expect.OK(t, err)
	expect.OK(t, m.Close())
	held := func() bool { _, ok := lent.Load(m); return ok }
	pins[0].Unpin()
	pins[0].Unpin() // counts once
	if !held() || !bytes.Equal(b, want.Tensors[0].Data) {
		t.Error("Close freed memory that a Pin holds")
	}
	pins[1].Unpin()
	if held() {
		t.Error("the model is held after the last Unpin")
	}
	anywhere := func(uintptr) bool { return true }
	if addr, _ := fault.Guard(anywhere, func() error { runtime.KeepAlive(b[0]); return nil }); runtime.GOOS == "linux" && addr == 0 {
		t.Error("memory can be read after Close and the last Unpin")
	}
	new(Pin).Unpin()
}

// TestUnpinDuringClose: an Unpin while Close waits frees the addresses, and no call takes one afterwards.
func TestUnpinDuringClose(t *testing.T) {
	file, _ := sample(t)
	m, err := OpenBytes(file, nil)
	expect.OK(t, err)
	defer m.Close()
	x := get(t, m, "fc.weight")
	pin, err := m.Pin()
	expect.OK(t, err)
	m.closing.Cancel()
	pin.Unpin()
	if _, err := x.Address(); ErrorCode(err) != CodeClosed {
		t.Errorf("an address while the model closes: %v", err)
	}
}

func TestConcurrentClose(t *testing.T) {
	file, _ := sample(t)
	path := save(t, "m.mag", file)
	for range 20 {
		m, err := Open(path, nil)
		expect.OK(t, err)
		x := get(t, m, "fc.weight")
		var all sync.WaitGroup
		for _, u := range uses {
			all.Go(func() {
				for range 50 {
					if err := u.use(m, x); err != nil {
						if ErrorCode(err) != CodeClosed {
							t.Errorf("%s: %v", u.name, err)
						}
						return
					}
				}
			})
		}
		all.Go(func() {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
	}
}
