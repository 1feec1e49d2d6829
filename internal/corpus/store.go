package corpus

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write the files of testdata/corpus anew")

// store compares the committed corpus with the cases, or updates it.
func (s *Suite) store(t *testing.T, dir string) {
	t.Helper()
	want := map[string][]byte{}
	var index bytes.Buffer
	e := json.NewEncoder(&index)
	e.SetEscapeHTML(false)
	for i := range s.Cases {
		c, size := &s.Cases[i], 0
		for _, b := range c.files(s.Ext) {
			size += len(b)
		}
		if size > largest {
			continue
		}
		maps.Copy(want, c.files(s.Ext))
		if err := e.Encode(s.line(c)); err != nil {
			t.Fatal(err)
		}
	}
	want[IndexName] = index.Bytes()
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		write(t, dir, want)
	}
	if diff := cmp.Diff(read(t, dir), want, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s is not what the test code makes: run the test with -update, and look at the change (-committed +made):\n%s", dir, diff)
	}
}

// read returns the files below dir by slash-separated path.
func read(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		all[filepath.ToSlash(name)], err = os.ReadFile(p)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all
}

func write(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for f, b := range files {
		p := filepath.Join(dir, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Read returns the index of the corpus in a directory.
func Read(t testing.TB, dir string) (lines []Line) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, IndexName))
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var l Line
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// der returns the PKIX form of a public key, or nil for none.
func der(key crypto.PublicKey) []byte {
	if key == nil {
		return nil
	}
	b, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		panic(err)
	}
	return b
}
