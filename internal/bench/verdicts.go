package bench

import (
	"fmt"
	"strings"
	"testing"
)

// verdict is a figure with a limit.
type verdict struct {
	name   string // the benchmark's name
	limit  float64
	least  bool // the limit is a lower bound
	counts bool // the figure does not depend on the machine
	figure func(b *testing.B) float64
}

func (v *verdict) met(figure float64) bool {
	if v.least {
		return figure >= v.limit
	}
	return figure <= v.limit
}

// Verdicts measures all figures and prints a table. With strict, a missed limit fails the benchmark
// even if the figure depends on the machine.
func Verdicts(b *testing.B, strict bool) {
	var table strings.Builder
	for _, v := range verdicts() {
		line := ""
		b.Run(v.name, func(b *testing.B) {
			figure := v.figure(b)
			bound, word := "at most", "met"
			if v.least {
				bound = "at least"
			}
			if !v.met(figure) {
				word = "missed"
				if v.counts || strict {
					b.Errorf("%.2f, %s %v", figure, bound, v.limit)
				}
			}
			b.ReportMetric(v.limit, "limit")
			line = fmt.Sprintf("%-44s %8.2f   %-8s %6v   %s\n", v.name, figure, bound, v.limit, word)
		})
		table.WriteString(line)
	}
	fmt.Print("\n", table.String(), "\n")
}

// verdicts returns all figures in the order of the table.
func verdicts() (all []verdict) {
	all = append(all, openVerdicts()...)
	all = append(all, coldVerdicts()...)
	all = append(all, readVerdicts()...)
	all = append(all, allocVerdicts()...)
	all = append(all, toolVerdicts()...)
	all = append(all, useVerdicts()...)
	all = append(all, verifyVerdicts()...)
	all = append(all, floatVerdicts()...)
	all = append(all, decodeVerdicts()...)
	all = append(all, numberVerdicts()...)
	all = append(all, convertVerdicts()...)
	all = append(all, writeVerdicts()...)
	all = append(all, serveVerdicts()...)
	all = append(all, loadVerdicts()...)
	all = append(all, latenessVerdicts()...)
	all = append(all, remoteVerdicts()...)
	return append(all, firstFloatVerdicts()...)
}
