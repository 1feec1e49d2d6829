package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// mobiTargets returns MOBI's targets. Opening parses the header; a load opens the file, verifies both
// checksums and reads every weight. They are measured next to mapping the file, and mapping it and
// reading every byte.
func mobiTargets() (all []target) {
	for _, m := range mobiModels {
		for _, d := range mobiTypes {
			for i, kind := range []string{"plain", "gzip"} {
				path := filepath.Join(temp, fmt.Sprintf("%s-%v-%s.mobi", m.name, d, kind))
				written := func(b *testing.B) string {
					if _, err := os.Stat(path); err != nil {
						if err := os.WriteFile(path, m.encoded(b, d, 6*i), 0o666); err != nil {
							b.Fatal(err)
						}
					}
					return path
				}
				name := fmt.Sprintf("mobi/%s/%v/%s/", m.name, d, kind)
				all = append(all,
					target{name: name + "header", limit: 1, unit: "ms", figure: func(b *testing.B) float64 {
						return opened(b, written(b))
					}},
					target{name: name + "load", limit: m.ms, unit: "ms", figure: func(b *testing.B) float64 {
						return loaded(b, written(b))
					}},
					target{name: name + "size", limit: m.mb, unit: "MB", figure: func(b *testing.B) float64 {
						return megabytes(b, written(b))
					}})
			}
		}
	}
	return all
}
