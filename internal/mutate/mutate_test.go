package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestToy mutates a package with known gaps in its tests.
func TestToy(t *testing.T) {
	testhost.NeedChildren(t)
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("takes the go command")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("takes a shell")
	}
	t.Chdir("../..")
	const dir = "internal/mutate/testdata/toy"
	toy := []target{{dir: dir}}
	known := dir + "\trecordSize\tb[at] > 100\tit is of no consequence\n" +
		dir + "\trecords\tb[at+1] == 0xff\tnobody knows\n" +
		dir + "\trecords\tb[0] > 7\tit is gone\n"
	for _, tt := range []struct{ name, known, want string }{
		{"nothing is known", "", `
package               checks  caught   known unknown
internal/mutate/testdata/toy       6       4       0       2   66.7 %
all                        6       4       0       2   66.7 %
internal/mutate/testdata/toy/toy.go:12: records: b[0] > 9: untripped
internal/mutate/testdata/toy/toy.go:39: recordSize: b[at] > 100: survived
`},
		{"some is known", known, `
package               checks  caught   known unknown
internal/mutate/testdata/toy       6       4       1       1   66.7 %
all                        6       4       1       1   66.7 %
internal/mutate/testdata/toy/toy.go:12: records: b[0] > 9: untripped
internal/mutate/testdata/toy/toy.go:24: records: b[at+1] == 0xff: caught, but listed in survivors.txt
internal/mutate/testdata/toy/toy.go:39: recordSize: b[at] > 100: known: it is of no consequence
listed in survivors.txt, but there is no such check: internal/mutate/testdata/toy records b[0] > 7
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			ok, err := run(&out, toy, toy, tt.known)
			if err != nil || ok {
				t.Fatalf("ok %v, %v\n%s", ok, err, &out)
			}
			expect.Equal(t, tt.want[1:], out.String())
		})
	}
}

// TestSurvivors parses the committed list.
func TestSurvivors(t *testing.T) {
	if _, err := parseKnown(knownSurvivors); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"mag\tparse\tn < 0", "mag\tparse\tn < 0\t", "mag parse n < 0 why"} {
		if _, err := parseKnown(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
