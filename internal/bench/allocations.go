package bench

import "testing"

// allocVerdicts: opening allocates as often for many tensors as for few.
func allocVerdicts() (all []verdict) {
	for _, name := range []string{"mag", "mobi", "tsr", "mle", "wia"} {
		limit := 16.0
		if name == "mle" || name == "wia" {
			limit = 24
		}
		for _, m := range Models {
			all = append(all, verdict{name: "allocations/" + name + "/" + m.Name, limit: limit, counts: true, figure: func(b *testing.B) float64 {
				open := Opening(File(b, name, m).Path)
				for b.Loop() {
					if err := open(); err != nil {
						b.Fatal(err)
					}
				}
				n := testing.AllocsPerRun(10, func() { open() })
				b.ReportMetric(n, "allocs")
				return n
			}})
		}
	}
	return all
}
