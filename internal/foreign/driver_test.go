package foreign_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestForgottenImport is ../shared/cases/newcomer/forgotten-import.go.txt: this program links no format, and
// each function that needs one names the import.
func TestForgottenImport(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		expect.OK(t, os.WriteFile(path, []byte(content), 0o644))
		return path
	}
	header := `{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	safetensors := string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "\x00\x00\x00\x00"
	advice := func(name, path string) string {
		return "no driver for " + name + `: import _ "github.com/weightmap/weightmap/` + path + `", or format/all`
	}
	open := func(path string) error {
		_, err := format.Open(path, nil)
		return err
	}
	bytes := func(content string) error {
		_, err := format.OpenBytes([]byte(content), nil)
		return err
	}
	target := filepath.Join(dir, "x.mag")
	_, create := format.Create(target, &schema.Schema{}, nil)
	lookup := func(name string) error {
		_, err := format.ByName(name)
		return err
	}
	plain := file("plain.safetensors", safetensors)
	graph := file("net.onnx", "\x08\x09\x3a\x00")
	pickle := file("m.pth", "\x80\x02}q\x00.")
	tar := file("m.tar", string(make([]byte, 257))+"ustar")
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"Open, by content", open(plain), plain + ": " + advice("safetensors", "format/safetensors")},
		{"Open, by the file's ending", open(graph), graph + ": " + advice("onnx", "format/onnx")},
		{"OpenBytes", bytes("GGUF\x03\x00\x00\x00"), advice("gguf", "format/gguf")},
		{"OpenBytes of an archive", bytes("PK\x03\x04" + string(make([]byte, 22)) + "\x0a\x00\x00\x00m/data.pkl"), advice("torch", "format/torch")},
		{"Create", create, target + ": format: " + advice("mag", "mag")},
		{"ByName of an archive's format", lookup("npz"), "format: " + advice("npz", "format/npy")},
		{"Open of what no format reads", open(tar), tar + ": this is a tar archive: unpack it first"},
		{"Open of a pickle", open(pickle), pickle + ": " + advice("torch", "format/torch")},
	} {
		if tt.err == nil || !errors.Is(tt.err, format.ErrUnknownFormat) {
			t.Errorf("%s: %v, want ErrUnknownFormat", tt.name, tt.err)
			continue
		}
		if diff := cmp.Diff(tt.want, tt.err.Error()); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
