package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

//go:embed survivors.txt
var knownSurvivors string

// parseKnown parses survivors.txt: package, function, operand and reason, separated by tabs. Lines
// that begin with # are comments.
func parseKnown(text string) (map[string]string, error) {
	reasons := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 || f[3] == "" {
			return nil, fmt.Errorf("survivors.txt:%d: want package, function, operand and reason, with tabs between them", i+1)
		}
		reasons[strings.Join(f[:3], "\t")] = f[3]
	}
	return reasons, nil
}

// report prints the figures of each package and the surviving checks. It reports whether 95 % were
// caught and every other check has a reason.
func report(out io.Writer, chosen []target, checks []*check, excused map[string]string) (ok bool) {
	ok = true
	total := tally{}
	fmt.Fprintf(out, "%-20s %7s %7s %7s %7s\n", "package", "checks", "caught", "known", "unknown")
	for _, t := range chosen {
		n := tally{}
		for _, c := range checks {
			if c.pkg == t.dir {
				n.add(c, excused)
			}
		}
		n.print(out, t.dir)
		total.checks, total.caught, total.known = total.checks+n.checks, total.caught+n.caught, total.known+n.known
	}
	total.print(out, "all")
	for _, c := range checks {
		reason, isKnown := excused[c.key()]
		switch {
		case c.caught == caught && isKnown:
			fmt.Fprintf(out, "%v: caught, but listed in survivors.txt\n", c)
		case c.caught == caught:
		case isKnown:
			fmt.Fprintf(out, "%v: known: %s\n", c, reason)
		default:
			ok = false
			fmt.Fprintf(out, "%v: %s\n", c, c.caught)
		}
		delete(excused, c.key())
	}
	for key := range excused {
		for _, t := range chosen {
			if strings.HasPrefix(key, t.dir+"\t") {
				fmt.Fprintf(out, "listed in survivors.txt, but there is no such check: %s\n", strings.ReplaceAll(key, "\t", " "))
			}
		}
	}
	return ok && 100*total.caught >= 95*total.checks
}

// tally counts checks.
type tally struct{ checks, caught, known int }

func (n *tally) add(c *check, excused map[string]string) {
	n.checks++
	_, isKnown := excused[c.key()]
	switch {
	case c.caught == caught:
		n.caught++
	case isKnown:
		n.known++
	}
}

func (n tally) print(out io.Writer, name string) {
	fmt.Fprintf(out, "%-20s %7d %7d %7d %7d   %.1f %%\n", name, n.checks, n.caught, n.known, n.checks-n.caught-n.known,
		100*float64(n.caught)/float64(max(1, n.checks)))
}
