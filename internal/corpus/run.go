package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// Every corpus has at least this many cases of each kind.
const leastRefused, leastAccepted = 60, 20

// Run opens and verifies every case from memory, by mapping and through an io.ReaderAt. It compares
// the committed files with the cases; with -update it writes them.
func (s *Suite) Run(t *testing.T) {
	s.store(t, filepath.Join("testdata", "corpus", s.Dir))
	refused := 0
	seen := map[string]bool{}
	for i := range s.Cases {
		c := &s.Cases[i]
		if seen[slug(c.Name)] {
			t.Errorf("two cases make the file %s", c.target(s.Ext))
		}
		seen[slug(c.Name)] = true
		if c.Err != nil {
			refused++
		}
		t.Run(slug(c.Name), func(t *testing.T) { s.check(t, c) })
	}
	if accepted := len(s.Cases) - refused; refused < leastRefused || accepted < leastAccepted {
		t.Errorf("%d refused and %d accepted, want %d and %d", refused, accepted, leastRefused, leastAccepted)
	}
}

// check opens a case in every way, and compares the results with its line.
func (s *Suite) check(t *testing.T, c *Case) {
	want := s.line(c)
	dir := t.TempDir()
	write(t, dir, c.files(s.Ext))
	testhost.RoundTimes(t, dir)
	target := filepath.Join(dir, filepath.FromSlash(want.File))
	m, err := format.Open(target, &format.Options{Format: s.Format, Key: c.Key})
	s.compare(t, "mapped", c, want, m, err)
	b := c.Bytes
	if c.Files != nil {
		b = c.Files[c.Open]
	}
	if c.ByPath || c.Files != nil && c.Open == "" {
		return
	}
	if s.Alone != "" && len(want.Tensors) == 1 && c.Tensors[0].Name == "" {
		want.Tensors[0].Name = s.Alone
	}
	o := &format.Options{Format: s.Format, Key: c.Key, Dir: filepath.Dir(target)}
	m, err = format.OpenBytes(b, o)
	s.compare(t, "bytes", c, want, m, err)
	m, err = format.OpenReaderAt(bytes.NewReader(b), int64(len(b)), o)
	s.compare(t, "reader", c, want, m, err)
}

// compare verifies and reads a model, and compares the result with the line of its case.
func (s *Suite) compare(t *testing.T, way string, c *Case, want Line, m *format.Model, err error) {
	got := s.head(c)
	if err != nil {
		s.refused(&got, "open", c, err)
	} else if err = verify(c, m); err != nil {
		s.refused(&got, "verify", c, err)
	} else {
		s.accepted(t, &got, c, m)
	}
	if m != nil {
		if err := m.Close(); err != nil {
			t.Errorf("%s: close: %v", way, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", way, err, diff)
	}
}

func verify(c *Case, m *format.Model) error {
	o := &format.VerifyOptions{}
	if c.Trusted != nil {
		o.Trusted = format.TrustKey(c.Trusted)
	}
	_, err := m.Verify(context.Background(), o)
	return err
}

// refused records an error.
func (s *Suite) refused(l *Line, stage string, c *Case, err error) {
	l.Want = err.Error()
	l.Stage = stage
	var e *tensor.Error
	if !errors.As(err, &e) {
		return
	}
	l.Field = e.Field
	l.Offset = &e.Offset
	if c.In != "" {
		l.In = filepath.Base(e.Path)
	}
	if c.Err != nil && errors.Is(err, c.Err) && e.Format == s.Format.Driver().Describe().Name {
		l.Want = sentinel(c.Err)
	}
}

// accepted records the content of a model, and checks that it has the expected notes.
func (s *Suite) accepted(t *testing.T, l *Line, c *Case, m *format.Model) {
	if _, err := m.Graph(); err != nil {
		t.Errorf("graph: %v", err)
	}
	for _, n := range c.Notes {
		if !slices.Contains(m.Notes(), n) {
			t.Errorf("%q is not among the notes %q", n, m.Notes())
		}
	}
	l.Version = m.Version()
	sum := sha256.New()
	for name, v := range m.Tensors() {
		info := v.Info()
		l.Tensors = append(l.Tensors, Entry{name, info.TypeName(), append([]int64{}, info.Shape...)})
		b, err := v.Bytes()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sum.Write(b)
	}
	l.SHA256 = hex.EncodeToString(sum.Sum(nil))
}

// Seed adds the committed files to a fuzz target that takes a model's bytes.
func Seed(f *testing.F) {
	f.Helper()
	files := read(f, filepath.Join("testdata", "corpus"))
	if len(files) < 2 {
		f.Fatal("no files of the corpus")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) != indexName {
			f.Add(files[name])
		}
	}
}
