package disk

import (
	"crypto"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestDigestIn: names that caches give to files have digests that must match, other names may have digits by chance.
func TestDigestIn(t *testing.T) {
	long, short := strings.Repeat("0123456789abcdef", 4), strings.Repeat("01234567", 5)
	for _, tt := range []struct {
		name string
		want NameDigest
	}{
		{"models/blobs/sha256-" + long, NameDigest{crypto.SHA256, long, true}},
		{"sha256-" + long, NameDigest{crypto.SHA256, long, true}},
		{"cache/blobs/" + long, NameDigest{crypto.SHA256, long, true}},
		{"cache/blobs/" + short, NameDigest{crypto.SHA1, short, true}},
		{"cache/" + long, NameDigest{crypto.SHA256, long, false}},
		{"model-" + long + ".gguf", NameDigest{crypto.SHA256, long, false}},
		{"cache/" + short, NameDigest{}},
		{"sha256-" + long[1:], NameDigest{}},
		{"sha256-" + strings.ToUpper(long), NameDigest{}},
		{"cache/blobs/model.gguf", NameDigest{}},
		{long + "/model.gguf", NameDigest{}},
		{"", NameDigest{}},
	} {
		if d := cmp.Diff(tt.want, DigestIn(tt.name)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

// TestLastName: a name that is no link is itself, in a file system and on disk.
func TestLastName(t *testing.T) {
	if got := LastName(fstest.MapFS{"a/b": {}}, "a/b"); got != "a/b" {
		t.Errorf("in a file system: %s", got)
	}
	if got := LastName(nil, "missing/b"); got != "missing/b" {
		t.Errorf("on disk: %s", got)
	}
}
