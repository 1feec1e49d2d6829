package digits

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
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
}

// TestDrawings checks that digits follow in turn, that shorter lists are prefixes of longer ones,
// and that the two sets are disjoint.
func TestDrawings(t *testing.T) {
	train, held := Training(500), HeldOut(500)
	seen := map[Image]bool{}
	for i, d := range train {
		seen[d.Image] = true
		if d.Digit != i%Classes {
			t.Fatalf("drawing %d is a %d", i, d.Digit)
		}
	}
	if len(seen) != len(train) {
		t.Errorf("%d different images of %d", len(seen), len(train))
	}
	for i, d := range held {
		if d.Digit != i%Classes || seen[d.Image] {
			t.Fatalf("held-out drawing %d: a %d, in the training set %v", i, d.Digit, seen[d.Image])
		}
	}
	if diff := cmp.Diff(train[:20], Training(20)); diff != "" {
		t.Error(diff)
	}
	if first, again, other := Draw(3, 1), Draw(3, 1), Draw(3, 2); first != again || first == other {
		t.Error("Draw does not follow its seed")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
