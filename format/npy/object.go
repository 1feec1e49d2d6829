package npy

import (
	"fmt"
	"path/filepath"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pickle"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// An array of objects is a pickle, which pickle.Machine reads as data. The arrays in it are
// tensors.

// objectType is the descr of an array of objects.
const objectType = "|O"

// objects receives what is in the pickle.
type objects struct {
	f     *parsed
	entry zip.Entry // the file
}

// Storage implements pickle.Finder. NumPy writes no tensors of PyTorch.
func (o *objects) Storage(*pickle.Machine, pickle.Ref) (pickle.Storage, error) {
	return pickle.Storage{}, nil
}

// Data implements pickle.Finder.
func (o *objects) Data(at, n int64, text *zip.Text) zip.Place {
	if len(o.f.Stores) == 0 {
		o.f.Stores = append(o.f.Stores, o.entry)
	}
	p := zip.Place{From: at, Extent: n}
	if text != nil {
		text.At = at
		p.From = 0
		p.Text = text
	}
	return p
}

// Tensor implements pickle.Finder.
func (o *objects) Tensor(t *driver.Tensor, p zip.Place) (taken bool, err error) {
	o.entry.Locate(t, &p)
	if o.f.Index.Add(t) != nil {
		return o.f.Index.Err() == nil, o.f.Index.Err()
	}
	o.f.Places = append(o.f.Places, p)
	return false, nil
}

// parseObjects parses the pickle behind a header of length bytes.
func (f *parsed) parseObjects(src driver.Source, first *driver.Head, length int64,
	o *driver.ParseOptions) (*driver.Parsed, error) {
	r := wire.HeadRecord("", first, 0, src.Size())
	r.Skip("header", uint64(length))
	m := pickle.New(r, 0, -1, o.Memory)
	defer m.Release()
	file := &zip.File{Src: src, Plain: true}
	to := &objects{f: f, entry: zip.Entry{File: file, Stored: src.Size(), Size: src.Size()}}
	walk := pickle.NewWalk(to, o.Memory, tensorRoot(src.Path()))
	err := findObjects(m, walk, length)
	closed := first.Close(m.Offset())
	if err != nil {
		return nil, err
	}
	if closed != nil {
		return nil, closed
	}
	name := filepath.Base(src.Path())
	if src.Path() == "" {
		name = "IN" + extension
	}
	note := fmt.Sprintf("an array of Python objects: "+
		"numpy.savez(\"OUT.npz\", **numpy.load(%q, allow_pickle=True).item()) "+
		"stores the arrays of a dict without a pickle", name)
	return &driver.Parsed{
		Load:     f.Load,
		Metadata: walk.Metadata,
		Notes:    append([]string{note}, walk.Notes...),
	}, nil
}

// findObjects runs the pickle behind a header of length bytes and finds what is in it.
func findObjects(m *pickle.Machine, walk *pickle.Walk, length int64) error {
	root := m.Run()
	err := m.Err()
	if err != nil {
		return err
	}
	n := m.Left()
	if n > 0 {
		return wire.Errorf("", "pickle", m.Offset(), format.ErrCorrupt, "%d bytes follow the pickle", n)
	}
	err = walk.Find(m, root, m.Offset()-length, "")
	if err != nil {
		return err
	}
	walk.Finish()
	return nil
}

// tensorRoot returns the name of a lone tensor.
func tensorRoot(path string) string {
	name, err := nameOf(path)
	if err != nil {
		return "array"
	}
	return name
}

// rawSize returns the size of the elements of a type without a meaning in NumPy, such as those of
// ml_dtypes: "<V2" for bfloat16, "|V1" and "<f1" for float8.
func rawSize(descr []byte) (size int64, ok bool) {
	if len(descr) > 0 && (descr[0] == '<' || descr[0] == '|') {
		descr = descr[1:]
	}
	if string(descr) == "f1" {
		return 1, true
	}
	if len(descr) < 2 || len(descr) > 10 || descr[0] != 'V' {
		return 0, false
	}
	for _, c := range descr[1:] {
		if c < '0' || c > '9' {
			return 0, false
		}
		size = 10*size + int64(c-'0')
	}
	return size, size > 0
}

// isRaw reports whether a descr is of such a type.
func isRaw(descr []byte) bool {
	_, ok := rawSize(descr)
	return ok
}

// rawBytes returns the size of an array of raw elements.
func rawBytes(shape tensor.Shape, size int64) (int64, error) {
	return (&tensor.Encoding{Name: "raw", BlockElems: 1, BlockBytes: size}).Bytes(shape)
}
