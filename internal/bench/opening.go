package bench

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
)

// openVerdicts measures opening and closing, relative to mapping one file.
func openVerdicts() (all []verdict) {
	bare := func(name string, m Model) func(b *testing.B) float64 {
		return func(b *testing.B) float64 {
			f := File(b, name, m)
			return floor.Pairs(b, floor.Rounds, Opening(f.Path), Mapping(f.Paths[0]))
		}
	}
	small, large := Models[0], Models[1]
	for _, c := range []struct {
		name         string
		small, large float64
	}{{"mag", 3.3, 10}, {"tsr", 3.3, 10}, {"mle", 4, 20}, {"wia", 10, 40}, {"mobi", 10, 40}} {
		s, l := small, large
		if c.name == "tsr" {
			s, l = single(small), single(large)
		}
		all = append(all, verdict{name: "open/" + c.name + "/2MB", limit: c.small, figure: bare(c.name, s)},
			verdict{name: "open/" + c.name + "/100MB", limit: c.large, figure: bare(c.name, l)},
			verdict{name: "open/" + c.name + "/8goroutines", limit: 0.7, figure: crowded(c.name, s)})
	}
	return append(all, verdict{name: "open/tsr/directory20", limit: 15, figure: bare("tsr", small)},
		verdict{name: "open/tsr/directory300", limit: 220, figure: bare("tsr", large)})
}

// crowded measures one opening while eight goroutines open a file each, relative to a single
// goroutine.
func crowded(name string, m Model) func(b *testing.B) float64 {
	return func(b *testing.B) float64 {
		const goroutines = 8
		var open []func() error
		for i := range goroutines {
			path := filepath.Join(b.TempDir(), fmt.Sprint(i))
			if _, err := Write(name, path, m, &format.WriteOptions{NoSync: true}); err != nil {
				b.Fatal(err)
			}
			open = append(open, Opening(path))
		}
		return floor.PairsOf(b, floor.Rounds, together(open...), floor.Timed(open[0])).Ratio
	}
}
