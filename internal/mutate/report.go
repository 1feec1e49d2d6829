package main

import (
	"fmt"
	"io"
	"strings"
)

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
func report(out io.Writer, chosen []target, checks []*check, excused map[string]string) bool {
	fmt.Fprintf(out, "%-20s %7s %7s %7s %7s\n", "package", "checks", "caught", "known", "unknown")
	for _, t := range chosen {
		count(checks, t.dir, excused).print(out, t.dir)
	}
	all := count(checks, "", excused)
	all.print(out, "all")
	for _, c := range checks {
		reason, isKnown := excused[c.key()]
		switch {
		case c.verdict == caught && isKnown:
			fmt.Fprintf(out, "%v: caught, but listed in survivors.txt\n", c)
		case c.verdict == caught:
		case isKnown:
			fmt.Fprintf(out, "%v: known: %s\n", c, reason)
		default:
			fmt.Fprintf(out, "%v: %s\n", c, c.verdict)
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
	return all.caught+all.known == all.checks && 100*all.caught >= 95*all.checks
}

// tally counts checks.
type tally struct{ checks, caught, known int }

// count counts the checks of a package, or all of them.
func count(checks []*check, pkg string, excused map[string]string) (n tally) {
	for _, c := range checks {
		if pkg != "" && c.pkg != pkg {
			continue
		}
		n.checks++
		if c.verdict == caught {
			n.caught++
		} else if excused[c.key()] != "" {
			n.known++
		}
	}
	return n
}

func (n tally) print(out io.Writer, name string) {
	fmt.Fprintf(out, "%-20s %7d %7d %7d %7d   %.1f %%\n", name, n.checks, n.caught, n.known, n.checks-n.caught-n.known,
		100*float64(n.caught)/float64(max(1, n.checks)))
}
