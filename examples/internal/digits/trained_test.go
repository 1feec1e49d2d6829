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
