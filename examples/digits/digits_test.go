package digits

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestSameEverywhere checks that drawings have the same bytes on every machine, since models and
// figures in the documentation depend on them.
func TestSameEverywhere(t *testing.T) {
	for _, c := range []struct {
		name     string
		drawings []Drawing
		want     string
	}{
		{"training", Training(300), "348b67135a404655d5fa13de31e44d4d9a3909573d4f0596bbf813ce7e6e0f8a"},
		{"held out", HeldOut(300), "0b841e2100a0feb0962c03c48a0225d01cb70112821c0791f9969490980f389f"},
	} {
		h := sha256.New()
		for _, d := range c.drawings {
			h.Write(append(d.Image[:], byte(d.Digit)))
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if first, again, other := Draw(3, 1), Draw(3, 1), Draw(3, 2); first != again || first == other {
		t.Error("Draw does not follow its seed")
	}
}

// trainedWeights returns the weights of the committed model as views of its file.
func trainedWeights(t *testing.T) *Weights {
	t.Helper()
	path := filepath.Join(t.TempDir(), "digits.wia")
	expect.OK(t, os.WriteFile(path, Trained(), 0o666))
	w, err := Load(open(t, path))
	expect.OK(t, err)
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
