package corpus

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/internal/expect"
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
		c := &s.Cases[i]
		size := 0
		for _, b := range c.files(s.Ext) {
			size += len(b)
		}
		if size > largest {
			continue
		}
		maps.Copy(want, c.files(s.Ext))
		expect.OK(t, e.Encode(s.line(c)))
	}
	want[indexName] = index.Bytes()
	if *update {
		expect.OK(t, os.RemoveAll(dir))
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
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[p], err = fs.ReadFile(root, p)
		}
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
		expect.OK(t, os.MkdirAll(filepath.Dir(p), 0o777))
		expect.OK(t, os.WriteFile(p, b, 0o666))
	}
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
