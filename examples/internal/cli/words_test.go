package cli

import (
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// TestText checks that messages use terms of the command line and do not repeat paths.
func TestText(t *testing.T) {
	missing := &fs.PathError{Op: "stat", Path: "m.mag", Err: syscall.ENOENT}
	why := syscall.ENOENT.Error()
	memory := driver.NewMemory(100)
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"a path", missing, "m.mag: " + why},
		{"a path twice", &format.Error{Path: "m.mag", Offset: -1, Err: missing}, "m.mag: " + why},
		{"a path within", fmt.Errorf("-key: %w", missing), "-key: m.mag: " + why},
		{"a temporary file", &format.Error{Format: "mag", Path: "out/m.mag", Offset: -1, Err: &fs.PathError{Op: "open", Path: filepath.Join("out", ".m.mag.0a1b.tmp"), Err: syscall.ENOENT}}, "mag: out/m.mag: no file can be made in out: " + why},
		{"a directory", &format.Error{Path: "d.mag", Offset: -1, Err: fmt.Errorf("d.mag is not a regular file: %w", os.ErrInvalid)}, "d.mag is not a regular file"},
		{"memory", &format.Error{Format: "mag", Path: "m.mag", Offset: -1, Err: memory.Reserve(101)}, "mag: m.mag: limit exceeded: 101 bytes of memory besides 0, --max-memory is 100"},
		{"an option", driver.OptionError("mag", "Compression", "mag has no compression"), "--compress: mag has no compression"},
		{"a public key", fmt.Errorf("the trusted key is a %T", ed25519.PublicKey(nil)), "the trusted key is an Ed25519 key"},
		{"a private key", fmt.Errorf("unusable key: %T cannot sign", &rsa.PrivateKey{}), "unusable key: RSA key cannot sign"},
		{"a value", fmt.Errorf("a value of type %T", json.RawMessage(nil)), "a value of type JSON"},
	} {
		if diff := cmp.Diff(tt.want, tool.text(tt.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
