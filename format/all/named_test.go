package all_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// sha256Of returns the digest by which caches name a file.
func sha256Of(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// gitOf returns the name of a file as an object of git.
func gitOf(content string) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(content), content))))
}

// TestNamedByDigest: Verify compares files whose names have digests, and the targets of links.
func TestNamedByDigest(t *testing.T) {
	testhost.NeedLinks(t)
	file, other := safe("a"), safe("b")
	sum, sum1 := sha256Of(file), gitOf(file)
	list := index("a", "s1.safetensors", "b", "s2.safetensors")
	const bare = "ok, but nothing covers the header or the data of 1 tensor"
	for _, tt := range []struct {
		name  string
		files map[string]string
		open  string
		want  string // of Coverage
		note  string // that Verify adds
		err   string // of Verify
	}{
		{"an Ollama blob", map[string]string{"sha256-" + sum: file}, "sha256-" + sum, "ok", "", ""},
		{"another Ollama blob", map[string]string{"sha256-" + sum: other}, "sha256-" + sum, "", "", "checksum mismatch: the sha256 in the name is " + sum + ", that of the content is " + sha256Of(other) + ": download the file again"},
		{"a link to an Ollama blob", map[string]string{"sha256-" + sum: other, "m.safetensors": "->sha256-" + sum}, "m.safetensors", "", "", "checksum mismatch: the sha256 in the name is"},
		{"a blob", map[string]string{"blobs/" + sum: file}, "blobs/" + sum, "ok", "", ""},
		{"another blob", map[string]string{"blobs/" + sum: other}, "blobs/" + sum, "", "", "checksum mismatch: the sha256 in the name is"},
		{"a blob of git", map[string]string{"blobs/" + sum1: file}, "blobs/" + sum1, "ok", "", ""},
		{"another blob of git", map[string]string{"blobs/" + sum1: other}, "blobs/" + sum1, "", "", "checksum mismatch: the git sha1 in the name is " + sum1},
		{"git's digits elsewhere", map[string]string{sum1: other}, sum1, bare, "", ""},
		{"a link of a snapshot", map[string]string{"blobs/" + sum: file, "snapshots/r/model.safetensors": "->../../blobs/" + sum}, "snapshots/r", "ok", "", ""},
		{"a link of a snapshot to another blob", map[string]string{"blobs/" + sum: other, "snapshots/r/model.safetensors": "->../../blobs/" + sum}, "snapshots/r", "", "", "checksum mismatch"},
		{"shards and index", map[string]string{"blobs/" + gitOf(list): list, "blobs/" + sum: file, "blobs/" + sha256Of(other): other,
			"snapshots/r/model.safetensors.index.json": "->../../blobs/" + gitOf(list), "snapshots/r/s1.safetensors": "->../../blobs/" + sum, "snapshots/r/s2.safetensors": "->../../blobs/" + sha256Of(other)}, "snapshots/r", "ok", "", ""},
		{"a shard without a digest", map[string]string{"blobs/" + gitOf(list): list, "blobs/" + sum: file,
			"snapshots/r/model.safetensors.index.json": "->../../blobs/" + gitOf(list), "snapshots/r/s1.safetensors": "->../../blobs/" + sum, "snapshots/r/s2.safetensors": other}, "snapshots/r", bare, "", ""},
		{"a shard that differs", map[string]string{"blobs/" + gitOf(list): list, "blobs/" + sum: file, "blobs/" + sha256Of(other): other[:len(other)-1] + "\x08",
			"snapshots/r/model.safetensors.index.json": "->../../blobs/" + gitOf(list), "snapshots/r/s1.safetensors": "->../../blobs/" + sum, "snapshots/r/s2.safetensors": "->../../blobs/" + sha256Of(other)}, "snapshots/r", "", "", "checksum mismatch: the sha256 in the name is " + sha256Of(other)},
		{"digits in another name", map[string]string{"m-" + sum + ".safetensors": file}, "m-" + sum + ".safetensors", "ok", "m-" + sum + ".safetensors matches the sha256 in the name", ""},
		{"other digits in another name", map[string]string{sum + ".safetensors": other}, sum + ".safetensors", bare, sum + ".safetensors does not match the sha256 in the name", ""},
		{"capital digits", map[string]string{"blobs/" + strings.ToUpper(sum): other}, "blobs/" + strings.ToUpper(sum), bare, "", ""},
		{"too many digits", map[string]string{"blobs/" + sum + "0": other}, "blobs/" + sum + "0", bare, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := format.Open(filepath.Join(lay(t, t.TempDir(), tt.files), tt.open), nil)
			expect.OK(t, err)
			defer m.Close()
			before := m.Notes()
			covered, err := m.Verify(t.Context(), nil)
			if tt.err != "" {
				if !errors.Is(err, format.ErrChecksum) || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v, want %s", err, tt.err)
				}
				return
			}
			expect.OK(t, err)
			expect.Equal(t, tt.want, covered.String())
			var notes []string
			if tt.note != "" {
				notes = []string{tt.note}
			}
			for range 2 { // once
				if d := cmp.Diff(append(before, notes...), m.Notes(), cmpopts.EquateEmpty()); d != "" {
					t.Error(d)
				}
				_, err = m.Verify(t.Context(), nil)
				expect.OK(t, err)
			}
		})
	}
}
