package wia

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestTrustedExternal checks that with a trusted key each external tensor needs a
// checksum, through which the signature covers its data.
func TestTrustedExternal(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "w.bin"), []byte("data"), 0o644)
	sum := checksumText([]byte("data"))
	hidden := func(sum string) []byte {
		return by(2, by(5, st(1, "a"), by(5, decl("in", 8, 4), by(5, st(1, "w.bin"), vi(3, 4), st(4, sum)))))
	}
	for _, c := range []struct {
		name  string
		c     container
		only  []string
		wrong string // the tensor that the error names
	}{
		{"all have checksums", container{tensor: cat(elsewhereRecord("a", "w.bin", 0, 4, sum), elsewhereRecord("b", "w.bin", 0, 4, sum)), graph: hidden(sum)}, nil, ""},
		{"one has none", container{tensor: cat(elsewhereRecord("a", "w.bin", 0, 4, sum), elsewhereRecord("b", "w.bin", 0, 4, ""))}, nil, `"b"`},
		{"one has none and is missing", container{tensor: cat(elsewhereRecord("a", "w.bin", 0, 4, sum), elsewhereRecord("b", "none", 0, 4, ""))}, nil, `"b"`},
		{"another is asked for", container{tensor: cat(elsewhereRecord("a", "w.bin", 0, 4, sum), elsewhereRecord("b", "w.bin", 0, 4, ""))}, []string{"a"}, ""},
		{"in an attribute", container{graph: hidden("")}, nil, `"in"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := signed(c.c, rsaSigner, false)
			f := mustOpen(t, b, &format.Options{Dir: dir})
			opts := []format.VerifyOption{format.WithTrustedKey(rsaSigner.Public()), format.WithTensors(c.only...)}
			err := verify(f, opts...)
			switch {
			case c.wrong == "":
				if err != nil {
					t.Error(err)
				}
			case !errors.Is(err, format.ErrSignature) || !strings.Contains(err.Error(), c.wrong):
				t.Errorf("%v", err)
			}
			if err := verify(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("without a trusted key: %v", err)
			}
		})
	}
}
