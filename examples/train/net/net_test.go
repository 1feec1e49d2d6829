package net

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/weightmap/weightmap/examples/digits"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
)

// trained opens the committed model by mapping.
func trained(t *testing.T) (path string, m *format.Model, w *digits.Weights) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "digits.wia")
	if err := os.WriteFile(path, digits.Trained(), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := format.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if w, err = digits.Load(m); err != nil {
		t.Fatal(err)
	}
	return path, m, w
}

func network(t *testing.T, w *digits.Weights) *Network {
	t.Helper()
	n, err := New(w)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestByHand compares the engine with package digits.
func TestByHand(t *testing.T) {
	_, _, w := trained(t)
	n := network(t, w)
	for i, d := range digits.HeldOut(300) {
		want := w.Predict(&d.Image)
		got, err := n.Predict(&d.Image)
		if err != nil {
			t.Fatal(err)
		}
		for digit := range got {
			if math.Abs(float64(got[digit]-want[digit])) > 1e-4 {
				t.Fatalf("drawing %d: %v, by hand %v", i, got, want)
			}
		}
	}
}

// TestNothingCopied checks that a network on a mapped model allocates less than the size of the
// weights, and uses the current content of the file.
func TestNothingCopied(t *testing.T) {
	path, m, w := trained(t)
	if w.Copied > 0 {
		t.Skip("this system maps no floats") // big-endian
	}
	network(t, w) // the first network also allocates shared state
	bytes := int64(0)
	for _, values := range w.Parameters() {
		bytes += 4 * int64(len(*values))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := network(t, w)
	runtime.ReadMemStats(&after)
	if made := int64(after.TotalAlloc - before.TotalAlloc); made > bytes/2 {
		t.Errorf("a network on %d bytes of weights allocates %d", bytes, made)
	}

	image := digits.Draw(5, 1)
	if p, err := n.Predict(&image); err != nil || p.Best() != 5 {
		t.Fatalf("%v, %v", p, err)
	}
	v, err := m.Tensor("dense2.bias")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{0, 0, 0x7a, 0x44}, v.Info().Offset+4*7); err != nil { // 1000 for the 7
		t.Fatal(err)
	}
	if m.Stats().Mapped == 0 {
		return // read, as on systems that do not map
	}
	if p, err := n.Predict(&image); err != nil || p[7] != 1 {
		t.Errorf("after a write to the file: %v, %v", p, err)
	}
}

// TestFault checks that a prediction inside Model.Guard returns an error if the mapped file is
// truncated. That requires the engine to run in the calling goroutine.
func TestFault(t *testing.T) {
	path, m, w := trained(t)
	if runtime.GOOS != "linux" || w.Copied > 0 {
		t.Skip("no faults here")
	}
	n, image := network(t, w), digits.Draw(5, 1)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		err := m.Guard(func() error { _, err := n.Predict(&image); return err })
		if !errors.Is(err, format.ErrTruncated) {
			t.Errorf("got %v, want %v", err, format.ErrTruncated)
		}
	}
}
