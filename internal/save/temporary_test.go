package save

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestLongNames: every file name that the file system accepts can be written.
func TestLongNames(t *testing.T) {
	for name, base := range map[string]string{
		"255 bytes":      strings.Repeat("m", 251) + ".mag",
		"characters":     strings.Repeat("ü", 125) + ".mag",
		"just too long":  strings.Repeat("m", longest+1),
		"just fits":      strings.Repeat("m", longest),
		"a single byte":  "m",
		"begins hidden":  ".m",
		"looks like one": ".m.0123456789ab.tmp",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := CreateFile(filepath.Join(dir, base))
			must(t, err)
			temp := filepath.Base(f.Name())
			if len(temp) > longest+len("..")+digits+len(temporaryEnd) || !utf8.ValidString(temp) {
				t.Errorf("the temporary file is %q", temp)
			}
			if !isTemporary(temp, base) || !isTemporary(temp, "") || isTemporary(temp, base+"x") {
				t.Errorf("%q is not told to belong to %q", temp, base)
			}
			must(t, f.Commit(false))
			if d := cmp.Diff([]string{base}, entries(t, dir)); d != "" {
				t.Error(d)
			}
		})
	}
	// Long names with a common prefix have different temporary names.
	long := strings.Repeat("m", 200)
	if Shorten(long+"a") == Shorten(long+"b") {
		t.Error("two long names have the same temporary ones")
	}
}

// TestSweep: the next writer of a file removes the leftovers of its killed writers, and nothing else.
func TestSweep(t *testing.T) {
	old, young := time.Now().Add(-25*time.Hour), time.Now().Add(-23*time.Hour)
	long := strings.Repeat("m", 150)
	tests := []struct {
		target, name string
		at           time.Time
		gone         bool
	}{
		{"m.mag", ".m.mag.0123456789ab.tmp", old, true},
		{"m.mag", ".m.mag.0123456789ab.tmp", young, false},
		{"m.mag", ".m.mag.0123456789ab.tmp", time.Now().Add(time.Hour), false},
		{"m.mag", ".n.mag.0123456789ab.tmp", old, false},
		{"m", ".m.mag.0123456789ab.tmp", old, false},
		{"mag", ".m.mag.0123456789ab.tmp", old, false},
		{"m.mag", "m.mag.0123456789ab.tmp", old, false},
		{"m.mag", ".m.mag.0123456789ab", old, false},
		{"m.mag", ".m.mag.0123456789AB.tmp", old, false},
		{"m.mag", ".m.mag.123456789ab.tmp", old, false},
		{"m.mag", ".m.mag.00123456789ab.tmp", old, false},
		{"m.mag", ".m.mag.0123456789ag.tmp", old, false},
		{"m.mag", ".m.mag.tmp", old, false},
		{"m.mag", "m.mag.bak", old, false},
		{long, "." + Shorten(long) + ".0123456789ab.tmp", old, true},
		{long + "x", "." + Shorten(long) + ".0123456789ab.tmp", old, false},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		path := filepath.Join(dir, tt.name)
		mustWrite(t, path, "left", 0o644)
		must(t, os.Chtimes(path, tt.at, tt.at))
		replace(t, filepath.Join(dir, tt.target), "new", false)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) != tt.gone {
			t.Errorf("%.30q of %v next to %.30q: %v, gone should be %v", tt.name, tt.at, tt.target, err, tt.gone)
		}
	}
}

var errInjected = errors.New("injected")
