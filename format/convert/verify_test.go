package convert

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/tensor"
	_ "github.com/weightmap/weightmap/tsr"
)

// TestVerify: damage to the target after it was written is found, also where the target replaced the
// tensor's name.
func TestVerify(t *testing.T) {
	data := []byte("sixteen bytes...")
	v, err := tensor.FromBytes("a b", tensor.Float32, tensor.Shape{4}, data)
	if err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(t.TempDir(), "in.safetensors")
	if err := format.Save(in, "", v); err != nil {
		t.Fatal(err)
	}
	m, err := format.Open(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, to := range []string{"safetensors", "tsr", "mle"} {
		path := filepath.Join(t.TempDir(), "out."+to)
		o, err := (&Options{Lossy: true, Verify: true}).checked(path)
		if err != nil {
			t.Fatal(err)
		}
		j := newJob(m, path, o)
		if err := j.run(m); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copy(b[bytes.Index(b, data):], "S")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		var located *format.Error
		if err := j.verify(); !errors.Is(err, format.ErrChecksum) || !errors.As(err, &located) || !strings.HasPrefix(located.Field, "tensor ") {
			t.Errorf("%s: %v", to, err)
		}
	}
}
