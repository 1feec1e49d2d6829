package digits

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
)

var must = testhost.Must

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
