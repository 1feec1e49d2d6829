package digits

import (
	"os"
	"path/filepath"
	"testing"
)

// trainedWeights returns the weights of the committed model as views of its file.
func trainedWeights(t *testing.T) *Weights {
	t.Helper()
	path := filepath.Join(t.TempDir(), "digits.wia")
	must(t, os.WriteFile(path, Trained(), 0o666))
	w, err := Load(open(t, path))
	must(t, err)
	return w
}

// TestTrained checks that the committed model is small and recognizes drawings of the test set.
func TestTrained(t *testing.T) {
	if n := len(Trained()); n > 300_000 {
		t.Errorf("the model has %d bytes", n)
	}
	w, right := trainedWeights(t), 0
	held := HeldOut(1000)
	for _, d := range held {
		if p := w.Predict(&d.Image); p.Best() == d.Digit {
			right++
		}
	}
	if right < 990 {
		t.Errorf("%d of %d are right", right, len(held))
	}
}

// TestPredict checks that the result is a distribution, that every tensor affects it, and that
// without weights all digits are equally likely.
func TestPredict(t *testing.T) {
	w := trainedWeights(t)
	m := Draw(4, 1)
	want := w.Predict(&m)
	sum := float32(0)
	for _, p := range want {
		sum += p
	}
	if sum < 0.999 || sum > 1.001 {
		t.Errorf("the probabilities sum up to %v", sum)
	}
	for info, values := range w.Parameters() {
		whole := *values
		*values = make([]float32, len(whole))
		if w.Predict(&m) == want {
			t.Errorf("without %s the answer is the same", info.Name)
		}
		*values = whole
	}
	zero := &Weights{}
	for info, values := range zero.Parameters() {
		n, err := info.Shape.Elems()
		must(t, err)
		*values = make([]float32, n)
	}
	for d, p := range zero.Predict(&m) {
		if p != 0.1 {
			t.Errorf("without weights, %d has the probability %v", d, p)
		}
	}
}
