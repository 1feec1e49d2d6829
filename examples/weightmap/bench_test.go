package main

import (
	"regexp"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/mle"
)

// TestBench: a row for each task, whatever the times.
func TestBench(t *testing.T) {
	for _, args := range [][]string{
		{model(t, "mag", "m.mag")}, {model(t, "tsr", "checkpoint/")}, {"-key", secretHex, writeMLE(t, &format.WriteOptions{Key: secret, Format: mle.Format{}})},
	} {
		out, _ := tool(t, 0, append([]string{"bench", "-rounds", "2"}, args...)...)
		want := regexp.MustCompile(`(?s)^[^\n]*, medians of 2 rounds\n\nTASK +MEDIAN  OF READING +PER SECOND\n` +
			`read +[\d.]+.?s +1 +\S+ .?B\nopen +[\d.]+.?s +\S+\ntouch +[\d.]+.?s +\S+ +\S+ .?B\nverify +[\d.]+.?s +\S+ +\S+ .?B\n$`)
		if !want.MatchString(out) {
			t.Errorf("%q:\n%s", args, out)
		}
	}
}
