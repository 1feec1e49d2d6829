package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/examples/digits"
)

// short is a training of a few seconds.
var short = course{drawings: 1000, epochs: 3, held: 200}

// accuracy returns the share of held-out drawings that w recognizes.
func accuracy(w *digits.Weights, n int) float64 {
	right := 0
	for _, d := range digits.HeldOut(n) {
		if p := w.Predict(&d.Image); p.Best() == d.Digit {
			right++
		}
	}
	return float64(right) / float64(n)
}

// TestTrain checks that a short training lowers the loss, learns, and is reproducible.
func TestTrain(t *testing.T) {
	var runs [2]*digits.Weights
	for i := range runs {
		var losses []float64
		w, err := train(short, func(epoch int, loss float64) { losses = append(losses, loss) })
		if err != nil {
			t.Fatal(err)
		}
		if len(losses) != short.epochs || losses[0] > 1.2*math.Log(digits.Classes) || losses[2] > losses[0]/2 {
			t.Errorf("losses of the epochs: %v", losses)
		}
		if a := accuracy(w, short.held); a < 0.6 {
			t.Errorf("%.0f %% right after a short training", 100*a)
		}
		runs[i] = w
	}
	if !reflect.DeepEqual(runs[0], runs[1]) {
		t.Error("two runs differ")
	}
}

// TestTrained tests the committed model in all variants: run fails if one is worse. The table must
// list every file, and the files must remain.
func TestTrained(t *testing.T) {
	var out, errs bytes.Buffer
	dir := filepath.Join(t.TempDir(), "new", "models")
	if status := run([]string{"-trained", "-dir", dir}, short, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("status %d, %q\n%s", status, &errs, &out)
	}
	for _, kind := range formats {
		for _, v := range variants {
			if kind == "tsr" && !v.exact || kind == "mag" && v.loss > 0 || kind == "mle" && v.name == "int8 per channel" {
				continue // no room for such weights
			}
			if _, err := os.Stat(filepath.Join(dir, v.file(kind))); err != nil {
				t.Error(err)
			}
			row := regexp.MustCompile(regexp.QuoteMeta(v.file(kind)) + ` +` + v.name + ` +\d.* kB +(\d+\.\d\d) % +\d+ +\S`).FindStringSubmatch(out.String())
			if row == nil {
				t.Errorf("no row for %s in:\n%s", v.file(kind), &out)
			} else if row[1] < "99" && row[1] != "100.00" {
				t.Errorf("%s: %s %% right", v.file(kind), row[1])
			}
		}
	}
}

// TestCheck checks that changed bits in float32 and too low an accuracy are errors.
func TestCheck(t *testing.T) {
	said := make([]digits.Probabilities, 1000)
	want := &result{right: 990, said: said}
	for _, c := range []struct {
		name    string
		variant int
		right   int
		change  bool
		ok      bool
	}{
		{"the same", 0, 990, false, true},
		{"another bit", 0, 990, true, false},
		{"float16, other bits", 1, 990, true, true},
		{"float16, one less", 1, 989, false, false},
		{"float16, one more", 1, 991, false, false},
		{"int8, within half a point", 2, 985, true, true},
		{"int8, beyond", 2, 984, true, false},
		{"int8 per channel, beyond", 3, 984, true, false},
	} {
		got := &result{right: c.right, said: slices.Clone(said)}
		if c.change {
			got.said[999][3] = math.Nextafter32(0, 1)
		}
		if err := variants[c.variant].check("f", got, want); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		text   string
	}{
		{[]string{"-help"}, 0, "example:\n  train -dir models\n"},
		{[]string{"-what"}, 2, "unknown option -what"},
		{[]string{"file"}, 2, "no arguments are known"},
		{[]string{"-trained", "-save", "x"}, 2, "nothing is trained"},
		{[]string{"-trained", "-dir", os.DevNull}, 1, "not a directory"},
	} {
		var out, errs bytes.Buffer
		if status := run(c.args, short, &out, &errs); status != c.status || !strings.Contains(out.String()+errs.String(), c.text) {
			t.Errorf("%q: status %d, %q %q", c.args, status, &out, &errs)
		}
	}
}
