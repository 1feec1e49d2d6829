package bench

import (
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/floor"
)

// target is a figure in a specification, of a file.
type target struct {
	what    string // "size" is in megabytes, all others in milliseconds
	limit   float64
	excuse  string
	measure func(b *testing.B, path string) float64
}

// targets measures targets of a file, which is written once.
func (t *table) targets(name string, write func(path string) error, all ...target) {
	for _, x := range all {
		f := figure{limit: x.limit, unit: "ms", excuse: x.excuse}
		if x.what == "size" {
			f.unit = "MB"
		}
		t.add(name+"/"+x.what, f, func(b *testing.B) float64 { return x.measure(b, once(b, strings.ReplaceAll(name, "/", "-"), write)) })
	}
}

// opened returns the milliseconds of opening and closing a file.
func opened(b *testing.B, path string) float64 {
	return ms(floor.PairsOf(b, floor.Timed(Opening(path)), floor.Timed(Mapping(path))).Op)
}

// loaded returns the milliseconds of opening a file, reading every byte of its weights and, if the
// format checks on access, verifying their checksums.
func loaded(b *testing.B, path string) float64 {
	return ms(floor.PairsOf(b, floor.Timed(Loading(path, nil)), floor.Timed(func() error { return floor.Load(path) })).Op)
}

// megabytes returns the size of a file in 10^6 bytes.
func megabytes(b *testing.B, path string) float64 {
	st, err := os.Stat(path)
	must(b, err)
	return float64(st.Size()) / 1e6
}
