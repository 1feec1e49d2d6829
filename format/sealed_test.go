package format

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// sealedPath maps a file, seals it and reads all of it.
func sealedPath(t *testing.T, path string, memory *driver.Memory) *source.Region {
	t.Helper()
	r := new(source.Region)
	expect.OK(t, r.Open(path, source.Options{}))
	sealer := &source.Sealer{Changed: tensor.ErrSignature, Memory: memory}
	expect.OK(t, sealer.Seal(r, nil, nil))
	_, err := io.Copy(io.Discard, io.NewSectionReader(r, 0, r.Size()))
	expect.OK(t, err)
	return r
}

// TestSealedAssorted: tensors of all kinds, slices and parts of them are read from a sealed file as from any other.
func TestSealedAssorted(t *testing.T) {
	d, data := assorted()
	plain := open(t, source.FromBytes(data), d)
	c := toyConfig(d)
	m := &Model{}
	expect.OK(t, m.openRegion(sealedPath(t, storedFile(t, "m.toy", data), c.parse.Memory), c))
	defer m.Close()
	for i := range plain.index.Len() {
		v, want := m.At(i), plain.At(i)
		if v.ZeroCopy() != want.ZeroCopy() && want.ZeroCopy() {
			t.Errorf("%v is not zero-copy", v)
		}
		x, err := v.Digest()
		expect.OK(t, err)
		y, err := want.Digest()
		expect.OK(t, err)
		if x != y {
			t.Errorf("%v has another digest", v)
		}
		a, err := tensor.Decode[float32](nil, v)
		expect.OK(t, err)
		b, err := tensor.Decode[float32](nil, want)
		expect.OK(t, err)
		if !slices.EqualFunc(a, b, func(x, y float32) bool { return x == y || x != x && y != y }) {
			t.Errorf("%v decodes to other numbers", v)
		}
		got := make([]float32, len(a))
		expect.OK(t, m.Load(t.Context(), []Request{{Tensor: v.Name(), Floats: got}}, nil))
		if !slices.EqualFunc(got, b, func(x, y float32) bool { return x == y || x != x && y != y }) {
			t.Errorf("%v loads other numbers", v)
		}
	}
}

// TestSealedSource: after parsing, a driver gets private bytes of a sealed file, which are compared.
func TestSealedSource(t *testing.T) {
	data := ramp(1000)
	path := storedFile(t, "m.toy", data)
	var src driver.Source
	d := &toy{before: func(s driver.Source) error { src = s; return nil }}
	c := toyConfig(d)
	m := &Model{}
	expect.OK(t, m.openRegion(sealedPath(t, path, c.parse.Memory), c))
	defer m.Close()
	if src.InMemory() {
		t.Error("the source says that Slice aliases the file")
	}
	b, err := src.Slice(0, 1000)
	expect.OK(t, err)
	put(t, path, bytes.Repeat([]byte{9}, 1000))
	if !bytes.Equal(b, data) {
		t.Error("Slice aliases the file")
	}
}
