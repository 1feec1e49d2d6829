package formattest

import (
	"maps"
	"slices"
	"testing"
)

// tally records which properties were checked. A property that every sample skips does not count as
// passed.
type tally struct {
	exempt  map[string]string
	checked map[string]bool // by property: whether some sample did not skip it
}

// runAll checks the properties in list, each in a subtest.
func (y *tally) runAll(t *testing.T, list []property) {
	for _, p := range list {
		if y.exempt[p.name] != "" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			defer func() { y.checked[p.name] = y.checked[p.name] || !t.Skipped() }()
			p.check(t)
		})
	}
}

// complete fails for properties that every sample skipped.
func (y *tally) complete(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(y.checked)) {
		if !y.checked[name] {
			t.Errorf("every sample skips %s: add one that does not, or say in Config.Exempt why there is none", name)
		}
	}
}
