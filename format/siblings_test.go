package format

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestSiblingNames: a SiblingOpener gets clean names of files below the directory of the model, and no others.
func TestSiblingNames(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "a/b": "a/b", "./a": "a", "a//b": "a/b", "a/../b": "b",
		"..": "", "../a": "", "a/../../b": "", "/a": "", ".": "", "": "",
	} {
		got := ""
		door := siblings(func(name string) (io.ReaderAt, int64, error) {
			got = name
			return strings.NewReader(""), 0, nil
		})
		_, err := door.open(name)
		expect.Equal(t, want, got)
		if (err == nil) != (want != "") || err != nil && !errors.Is(err, tensor.ErrCorrupt) {
			t.Errorf("%q: %v", name, err)
		}
		if got != "" && !fs.ValidPath(got) {
			t.Errorf("%q became %q", name, got)
		}
	}
}
