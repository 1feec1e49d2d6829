package pickle

import (
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// sheet is a Finder that checks what it receives. Each persistent value is a storage of a million floats.
type sheet struct {
	t     *testing.T
	size  int64 // of the pickle
	names map[string]bool
}

// Storage implements Finder.
func (s *sheet) Storage(m *Machine, r Ref) (Storage, error) {
	if m.Kind(r) != PersistentKind {
		return Storage{}, nil
	}
	return Storage{Elem: StorageElem("torch", "FloatStorage"), Count: 1 << 20}, nil
}

// Data implements Finder.
func (s *sheet) Data(at, n int64, text *zip.Text) zip.Place {
	if text == nil && (at < 0 || n < 0 || n > s.size-at) {
		s.t.Errorf("%d bytes at %d of %d", n, at, s.size)
	}
	return zip.Place{From: at, Extent: n, Text: text}
}

// Tensor implements Finder.
func (s *sheet) Tensor(t *driver.Tensor, _ zip.Place) (taken bool, err error) {
	name := string(t.Name)
	if err := tensor.CheckName(name); err != nil {
		s.t.Error(err)
	}
	for _, n := range t.Shape {
		if n < 0 {
			s.t.Errorf("shape %v", t.Shape)
		}
	}
	if s.names[name] {
		return true, nil
	}
	s.names[name] = true
	return false, nil
}

// FuzzMachine runs any bytes as pickles, up to three, and finds the tensors in their values.
func FuzzMachine(f *testing.F) {
	floats := "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQK\x00(K\x02K\x03t(K\x03K\x01t\x89ccollections\nOrderedDict\n)RtR"
	array := "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01K\x02\x85cnumpy\ndtype\nU\x02f4\x89\x88\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89C\x08abcdefghtb"
	for _, code := range []string{
		"\x80\x02}(" + str("w") + floats + str("n") + num(5) + "u.",
		"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01G?\xf8\x00\x00\x00\x00\x00\x00\x88Ne.",
		"\x80\x03}" + str("a") + array + "s.",
		"(dp0\nS'w'\np1\n(lp2\nI1\naL2L\naF1.5\nasVabc\np3\n.",
		"\x80\x02cos\nsystem\n" + str("true") + "\x85R.",
		"\x80\x02" + obj + "}" + str("w") + floats + "sb.",
		"\x80\x02(iA\nB\nq\x00.\x80\x02\x8c\x01a\x8c\x01b\x93)\x81.",
		"\x8f(K\x01\x90.", "P0\n.", "(K\x01K\x02\x91.", maxInt + minInt + "\x86.",
	} {
		f.Add([]byte(code))
	}
	const limit = 16 << 20
	f.Fuzz(func(t *testing.T, code []byte) {
		m, memory := machine(string(code), limit)
		s := &sheet{t: t, size: int64(len(code)), names: map[string]bool{}}
		walk := NewWalk(s, memory, "tensor")
		for range 3 {
			left := m.Left()
			r := m.Run()
			if m.Err() != nil || walk.Find(m, r, left, "") != nil || m.Left() == 0 {
				break
			}
			if m.Left() >= left {
				t.Fatalf("a pickle took %d of %d bytes", left-m.Left(), left)
			}
		}
		walk.Finish()
		used := m.used
		before := memory.Left()
		m.Release()
		if memory.Left() != before+used || used < 0 || used > limit {
			t.Errorf("%d bytes are left after %d were released to %d", memory.Left(), used, before)
		}
	})
}
