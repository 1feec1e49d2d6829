package corpus

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

// Every corpus has at least this many cases of each kind.
const leastRefused, leastAccepted = 60, 20

// Run opens and verifies every case from memory, by mapping and through an io.ReaderAt. It compares
// the committed files with the cases; with -update it writes them.
func (s *Suite) Run(t *testing.T) {
	s.store(t, filepath.Join("testdata", "corpus", s.Dir))
	refused, seen := 0, map[string]bool{}
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

// way is a way to open a model.
type way struct {
	name string
	open func() (*format.Model, error)
}

func (s *Suite) check(t *testing.T, c *Case) {
	line := s.line(c)
	dir := t.TempDir()
	s.save(t, dir, c)
	target := filepath.Join(dir, filepath.FromSlash(line.File))
	o := &format.Options{Key: c.Key, Dir: filepath.Dir(target)}
	ways := []way{{"mapped", func() (*format.Model, error) { return s.Codec.Open(target, &format.Options{Key: c.Key}) }}}
	b := c.Bytes
	if c.Files != nil {
		b = c.Files[c.Open]
	}
	if !c.ByPath && (c.Files == nil || c.Open != "") {
		ways = append(ways,
			way{"bytes", func() (*format.Model, error) { return s.Codec.OpenBytes(b, o) }},
			way{"reader", func() (*format.Model, error) {
				return s.Codec.OpenReaderAt(bytes.NewReader(b), int64(len(b)), o)
			}})
	}
	for _, w := range ways {
		m, err := w.open()
		switch {
		case err != nil:
			if c.Err == nil || c.Late {
				t.Errorf("%s: open: %v", w.name, err)
			} else {
				s.refused(t, w.name, c, err)
			}
			continue
		case c.Err != nil && !c.Late:
			t.Errorf("%s: it opens, want %v in %s", w.name, c.Err, c.Field)
		}
		var opts []format.VerifyOption
		if c.Trusted != nil {
			opts = append(opts, format.WithTrustedKey(c.Trusted))
		}
		_, err = m.Verify(context.Background(), opts...)
		if c.Late {
			s.refused(t, w.name+", verified", c, err)
		} else if c.Err == nil {
			s.accepted(t, w.name, line, c, m, err)
		}
		if err := m.Close(); err != nil {
			t.Errorf("%s: close: %v", w.name, err)
		}
	}
}

// refused checks that err is the expected error.
func (s *Suite) refused(t *testing.T, way string, c *Case, err error) {
	t.Helper()
	var e *format.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: %v is no *format.Error, want %v in %q at %d", way, err, c.Err, c.Field, c.Offset)
		return
	}
	if !errors.Is(err, c.Err) || e.Format != s.Codec.Name() || e.Field != c.Field || e.Offset != c.Offset {
		t.Errorf("%s: %v: field %q at %d, want %v in %q at %d", way, err, e.Field, e.Offset, c.Err, c.Field, c.Offset)
	}
	if c.In != "" && filepath.Base(e.Path) != c.In {
		t.Errorf("%s: the error names the file %q, want %q", way, e.Path, c.In)
	}
}

// accepted checks that the model has the expected content.
func (s *Suite) accepted(t *testing.T, way string, want Line, c *Case, m *format.Model, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: verify: %v", way, err)
	}
	if _, err := m.Graph(); err != nil {
		t.Errorf("%s: graph: %v", way, err)
	}
	for _, n := range c.Notes {
		if !slices.Contains(m.Notes(), n) {
			t.Errorf("%s: %q is not among the notes %q", way, n, m.Notes())
		}
	}
	var data, wanted [][]byte
	got := want
	got.Version, got.Tensors = m.Version(), nil
	for i := range m.Len() {
		v := m.At(i)
		info := v.Info()
		name := v.Name()
		if way != "mapped" && s.Alone != "" && name == s.Alone && len(want.Tensors) == 1 {
			name = want.Tensors[0].Name
		}
		got.Tensors = append(got.Tensors, Entry{name, info.TypeName(), append([]int64{}, info.Shape...)})
		b, err := v.Bytes()
		if err != nil {
			t.Errorf("%s: %s: %v", way, name, err)
		}
		data = append(data, append([]byte{}, b...))
	}
	for _, tensor := range c.Tensors {
		wanted = append(wanted, append([]byte{}, tensor.Data...))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", way, diff)
	}
	if diff := cmp.Diff(wanted, data); diff != "" {
		t.Errorf("%s: data (-want +got):\n%s", way, diff)
	}
}

// Seed adds the committed files to a fuzz target that takes a model's bytes.
func Seed(f *testing.F) {
	f.Helper()
	for _, b := range Files(f) {
		f.Add(b)
	}
}

// Files returns the contents of the committed files.
func Files(t testing.TB) (all [][]byte) {
	t.Helper()
	root := filepath.Join("testdata", "corpus")
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == IndexName {
			return err
		}
		b, err := os.ReadFile(p)
		all = append(all, b)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files of the corpus: %v", len(all), err)
	}
	return all
}
