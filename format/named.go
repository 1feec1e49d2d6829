package format

import (
	"crypto"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// nameDigest is the digest in the name of a file, or of what its link leads to.
type nameDigest struct {
	hash crypto.Hash
	hex  string
	must bool // the file must have it: otherwise the digits may mean something else
}

const (
	sha256Digits = 64
	sha1Digits   = 40
	ollamaName   = "sha256-"
	blobsName    = "blobs"
)

// digestIn returns the digest in a name with slashes. It has no digits if there is none.
func digestIn(name string) nameDigest {
	dir, base := path.Split(name)
	isBlob := path.Base(dir) == blobsName
	digits, isOllama := strings.CutPrefix(base, ollamaName)
	switch {
	case isHex(digits) && len(digits) == sha256Digits && (isOllama || isBlob):
		return nameDigest{crypto.SHA256, digits, true}
	case isHex(base) && len(base) == sha1Digits && isBlob:
		return nameDigest{crypto.SHA1, base, true}
	}
	for word := range strings.FieldsFuncSeq(base, func(r rune) bool { return strings.IndexByte("-_. ", byte(r)) >= 0 }) {
		if isHex(word) && len(word) == sha256Digits {
			return nameDigest{crypto.SHA256, word, false}
		}
	}
	return nameDigest{}
}

// isHex reports whether all of s are digits as caches write them.
func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// of returns a hash of a file of that size that is named by the digest. For SHA-1, the name is that of an object of git.
func (d nameDigest) of(size int64) hash.Hash {
	h := d.hash.New()
	if d.hash == crypto.SHA1 {
		fmt.Fprintf(h, "blob %d\x00", size)
	}
	return h
}

// String returns the kind of digest.
func (d nameDigest) String() string {
	if d.hash == crypto.SHA1 {
		return "git sha1 in the name"
	}
	return "sha256 in the name"
}

// mostNamedLinks is the number of links that are followed to the name of a file.
const mostNamedLinks = 40

// lastName returns the name of what a file's name leads to.
func (c *config) lastName(name string) string {
	if c.fs == nil {
		final, err := filepath.EvalSymlinks(name)
		if err != nil {
			return filepath.ToSlash(name)
		}
		return filepath.ToSlash(final)
	}
	for range mostNamedLinks {
		target, err := fs.ReadLink(c.fs, name)
		if err != nil {
			break
		}
		name = path.Join(path.Dir(name), target)
	}
	return name
}

// namedFile is a file of the model whose name has a digest.
type namedFile struct {
	nameDigest
	f       *file
	r       *source.Region
	shown   string // its name in notes
	matches bool
	note    string
}

// digest returns the digest that the name of the file has, or the name that it leads to. It has no digits if there is
// none.
func (f *file) digest() nameDigest {
	c := f.c
	isOwn := f.number == 0
	if isOwn && (f.isDir || c.isPart) || c.fs == nil && c.path == "" {
		return nameDigest{}
	}
	name := f.path()
	if name == "" {
		return nameDigest{}
	}
	final := digestIn(c.lastName(name))
	own := digestIn(filepath.ToSlash(name))
	if final.must || own.hex == "" {
		return final
	}
	return own
}

// compareNames hashes the files whose names have digests, and compares those that must match.
func (v *verification) compareNames() error {
	var named []*namedFile
	for _, f := range v.m.spaces.files {
		d := f.digest()
		if d.hex == "" {
			continue
		}
		r, err := f.open()
		if err != nil {
			return err
		}
		named = append(named, &namedFile{nameDigest: d, f: f, r: r, shown: filepath.Base(f.path())})
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
	if !n.hash.Available() {
		n.note = fmt.Sprintf("%s was not compared with the %v: the program does not import crypto/sha256 and crypto/sha1", n.shown, n)
		return nil
	}
	h := n.of(n.r.Size())
	err := v.pass.Pieces(pass.Range{File: n.r, Size: n.r.Size(), IsPrivate: true}, func(b []byte) error {
		h.Write(b)
		v.Done(int64(len(b)), n.shown)
		return nil
	})
	if err != nil {
		return err
	}
	got := fmt.Sprintf("%x", h.Sum(nil))
	n.matches = got == n.hex
	switch {
	case n.must && n.matches:
	case n.matches:
		n.note = fmt.Sprintf("%s matches the %v", n.shown, n)
	case !n.must:
		n.note = fmt.Sprintf("%s does not match the %v", n.shown, n)
	case v.isReplaced(n):
		n.note = fmt.Sprintf("%s was replaced after it was opened, and is not compared with the %v", n.shown, n)
	default:
		why := fmt.Errorf("%w: the %v is %s, that of the content is %s: download the file again", tensor.ErrChecksum, n, n.hex, got)
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
	now, was := source.StampOf(info), n.r.Stamp()
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

// coverNamed records that digests cover the sections without a checksum, if they cover all files of the model.
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

// keepNote adds a note, once, unless it is empty.
func (m *Model) keepNote(note string) {
	m.found.Lock()
	defer m.found.Unlock()
	if note != "" && !slices.Contains(m.found.notes, note) {
		m.found.notes = append(m.found.notes, note)
	}
}

// foundNotes returns the notes that keepNote added.
func (m *Model) foundNotes() []string {
	m.found.Lock()
	defer m.found.Unlock()
	return slices.Clone(m.found.notes)
}
