package format

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/internal/disk"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// namedFile is a file of the model whose name has a digest.
type namedFile struct {
	disk.NameDigest
	f       *file
	r       *source.Region
	shown   string // its name in notes
	matches bool
	note    string
}

// nameDigest returns the digest that the name of a file has, or the name that it leads to. It has
// no digits if there is none.
func (m *Model) nameDigest(f *file) disk.NameDigest {
	c := m.c
	isOwn := f.number == 0
	if isOwn && (m.isDir || c.isPart) || c.fs == nil && c.path == "" {
		return disk.NameDigest{}
	}
	if f.plain && disk.DigestIn("blobs/"+f.name).Hex == "" {
		return disk.NameDigest{}
	}
	name := f.path()
	if name == "" {
		return disk.NameDigest{}
	}
	final := disk.DigestIn(disk.LastName(c.fs, name))
	own := disk.DigestIn(filepath.ToSlash(name))
	if final.Must || own.Hex == "" {
		return final
	}
	return own
}

// compareNames hashes the files whose names have digests, and compares those that must match.
func (v *verification) compareNames() error {
	var named []*namedFile
	for _, f := range v.m.spaces.files {
		d := v.m.nameDigest(f)
		if d.Hex == "" {
			continue
		}
		r, err := f.open()
		if err != nil {
			return err
		}
		named = append(named, &namedFile{NameDigest: d, f: f, r: r, shown: filepath.Base(f.path())})
		v.Expect(r.Size())
	}
	err := v.Each(len(named), func(i int) error { return v.compareName(named[i]) })
	if err != nil {
		return err
	}
	for _, n := range named {
		v.m.keepNote(n.note)
		if n.matches {
			v.coverFile(n)
		}
	}
	v.coverNamed(named)
	return nil
}

// compareName hashes a file and compares it with the digest in its name.
func (v *verification) compareName(n *namedFile) error {
	if !n.Hash.Available() {
		n.note = fmt.Sprintf("%s was not compared with the %v: the program does not import crypto/sha256 and crypto/sha1", n.shown, n)
		return nil
	}
	h := n.New(n.r.Size())
	err := v.pass.Pieces(pass.Range{File: n.r, Size: n.r.Size(), IsPrivate: true}, func(b []byte) error {
		h.Write(b)
		v.Done(int64(len(b)), n.shown)
		return nil
	})
	if err != nil {
		return err
	}
	got := fmt.Sprintf("%x", h.Sum(nil))
	n.matches = got == n.Hex
	switch {
	case n.Must && n.matches:
	case n.matches:
		n.note = fmt.Sprintf("%s matches the %v", n.shown, n)
	case !n.Must:
		n.note = fmt.Sprintf("%s does not match the %v", n.shown, n)
	case v.isReplaced(n):
		n.note = fmt.Sprintf("%s was replaced after it was opened, and is not compared with the %v", n.shown, n)
	default:
		why := fmt.Errorf("%w: the %v is %s, that of the content is %s: download the file again", tensor.ErrChecksum, n, n.Hex, got)
		return &tensor.Error{Format: v.m.desc.Name, Path: n.f.path(), Offset: -1, Err: why}
	}
	return nil
}

// isReplaced reports whether the name of an open file leads to another one by now.
func (v *verification) isReplaced(n *namedFile) bool {
	if v.m.c.fs != nil {
		return false
	}
	info, err := os.Stat(n.f.path())
	if err != nil {
		return true
	}
	now := source.StampOf(info)
	was := n.r.Stamp()
	return !was.Same(&now)
}

// coverFile records that the digest in the name of a file covers its tensors.
func (v *verification) coverFile(n *namedFile) {
	v.named = append(v.named, n.f.number)
	for i, by := range v.coverage.tensors {
		space, _, _ := v.m.index.Place(i)
		if by == "" && space == n.f.number {
			v.coverage.tensors[i] = n.String()
		}
	}
}

// coverNamed records that digests cover the sections without a checksum, if they cover all files of
// the model.
func (v *verification) coverNamed(named []*namedFile) {
	files := len(v.m.spaces.files)
	if v.m.isDir {
		files--
	}
	differs := func(n *namedFile) bool { return !n.matches }
	if len(named) == 0 || len(named) < files || slices.ContainsFunc(named, differs) {
		return
	}
	for i := range v.coverage.sections {
		if v.coverage.sections[i].By == "" {
			v.coverage.sections[i].By = named[0].String()
		}
	}
}
