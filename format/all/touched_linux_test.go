package all

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// TestOpeningTouchesNothing: opening reads the structure of a file through its descriptor,
// in every format, so that no page of the mapping is touched before a tensor is used.
func TestOpeningTouchesNothing(t *testing.T) {
	const n, each = 40, 20 << 10
	data := bytes.Repeat([]byte{7}, each)
	p := &format.Plan{}
	for i := range n {
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprint(i), DType: tensor.Float32, Shape: tensor.Shape{each / 4}})
	}
	for _, name := range format.Writable() {
		t.Run(name, func(t *testing.T) {
			plan := *p
			path := filepath.Join(t.TempDir(), "touched."+name)
			if name == "tsr" || name == "npy" { // whose tensor has the name of the file
				plan.Tensors = []tensor.Info{{Name: "touched", DType: tensor.Float32, Shape: tensor.Shape{each / 4}}}
			}
			w, err := format.Create(name, path, &plan, &format.WriteOptions{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range plan.Tensors {
				err = errors.Join(err, w.WriteTensor(i.Name, bytes.NewReader(data)))
			}
			if err = errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			m, err := format.Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if kb := touched(t, path); kb != 0 {
				t.Errorf("%d kB were touched", kb)
			}
			if _, err := m.At(0).ReadInto(make([]byte, each)); err != nil {
				t.Fatal(err)
			}
			if kb := touched(t, path); kb == 0 {
				t.Error("reading a tensor touches nothing")
			}
		})
	}
}

// touched returns how many kB of the mapping of a file are in the process.
func touched(t *testing.T, path string) (kb int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip("no smaps here:", err)
	}
	_, of, ok := strings.Cut(string(text), path)
	if !ok {
		t.Skip("the system does not list the mapping")
	}
	_, rss, _ := strings.Cut(of, "\nRss:")
	if _, err := fmt.Sscan(rss, &kb); err != nil {
		t.Fatal(err)
	}
	return kb
}
