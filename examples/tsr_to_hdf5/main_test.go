package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/examples/internal/pytest"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestLookup3 compares the checksum with the values that its author published.
func TestLookup3(t *testing.T) {
	for text, want := range map[string]uint32{
		"":                               0xdeadbeef,
		"Four score and seven years ago": 0x17770551,
	} {
		if got := lookup3([]byte(text)); got != want {
			t.Errorf("%q: %#x, want %#x", text, got, want)
		}
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		name string
		info tensor.Info
		err  string
	}{
		{"short name", tensor.Info{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{3}, Size: 3}, ""},
		{"long name", tensor.Info{Name: strings.Repeat("n", 300), DType: tensor.Int8, Shape: tensor.Shape{3}, Size: 3}, ""},
		{"reserved name", tensor.Info{Name: ".", DType: tensor.Int8}, "cannot be named"},
		{"dtype", tensor.Info{Name: "w", DType: tensor.Bool}, "dtype bool"},
	} {
		b, err := hdf5Header(c.info)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || len(b)%64 != 0 || !bytes.HasPrefix(b, []byte("\x89HDF\r\n\x1a\n\x02\x08\x08\x00")) {
			t.Errorf("%s: %v, % x", c.name, err, b)
		}
	}
}

// TestH5py reads the output with the HDF5 library.
func TestH5py(t *testing.T) {
	dir := t.TempDir()
	numpy := map[tensor.DType]string{tensor.Float32: "<f4", tensor.Int8: "|i1", tensor.Int32: "<i4"}
	samples := append(pytest.Samples(), pytest.Sample{Name: "名前 " + strings.Repeat("n", 200), DType: tensor.Int8, Shape: tensor.Shape{1}, Data: []byte{0x80}})
	var args []string
	want := ""
	for _, s := range samples {
		in, out := filepath.Join(dir, s.Name+".tsr"), filepath.Join(dir, s.Name+".h5")
		s.Write(t, in)
		var stderr bytes.Buffer
		if got := run(t.Context(), []string{in, out}, os.Stdout, &stderr); got != 0 {
			t.Fatal(stderr.String())
		}
		args = append(args, out)
		want += fmt.Sprintf("%s %s %v %s\n", hex.EncodeToString([]byte(s.Name)), numpy[s.DType], s.Shape, hex.EncodeToString(s.Data))
	}
	got := testhost.Python(t, "h5py", "testdata/describe.py", args...)
	expect.Equal(t, want, got)
}
