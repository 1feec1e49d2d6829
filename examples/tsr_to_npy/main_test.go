package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/examples/internal/pytest"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		dtype tensor.DType
		shape tensor.Shape
		dict  string
	}{
		{tensor.Float32, tensor.Shape{2, 3, 4, 5}, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4, 5), }"},
		{tensor.Int8, tensor.Shape{5}, "{'descr': '|i1', 'fortran_order': False, 'shape': (5,), }"},
		{tensor.Int32, nil, "{'descr': '<i4', 'fortran_order': False, 'shape': (), }"},
		{tensor.Int32, tensor.Shape{2147483647, 0, 2147483647, 2147483647}, "{'descr': '<i4', 'fortran_order': False, 'shape': (2147483647, 0, 2147483647, 2147483647), }"},
	} {
		got, err := npyHeader(tensor.Info{DType: c.dtype, Shape: c.shape})
		expect.OK(t, err)
		total := (10 + len(c.dict) + 1 + 63) / 64 * 64
		n := total - 10
		want := "\x93NUMPY\x01\x00" + string([]byte{byte(n), byte(n >> 8)}) + c.dict + strings.Repeat(" ", n-1-len(c.dict)) + "\n"
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%v %v: %s", c.dtype, c.shape, diff)
		}
	}
	if _, err := npyHeader(tensor.Info{DType: tensor.Bool}); err == nil {
		t.Error("no error for bool")
	}
}

// TestNumPy reads the output with NumPy.
func TestNumPy(t *testing.T) {
	dir := t.TempDir()
	var args []string
	want := ""
	for _, s := range pytest.Samples() {
		in, out := filepath.Join(dir, s.Name+".tsr"), filepath.Join(dir, s.Name+".npy")
		s.Write(t, in)
		var stderr bytes.Buffer
		if got := run(t.Context(), []string{in, out}, os.Stdout, &stderr); got != 0 {
			t.Fatal(stderr.String())
		}
		args = append(args, out)
		want += fmt.Sprintf("%s %v True %s\n", descr[s.DType], s.Shape, hex.EncodeToString(s.Data))
	}
	got := testhost.Python(t, "numpy", "testdata/describe.py", args...)
	expect.Equal(t, want, got)
}
