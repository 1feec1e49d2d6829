package formattest

import (
	"maps"
	"slices"
	"testing"
)

// tally knows which properties were looked at. One that every sample skips
// protects nobody, and is not to pass for one that holds.
type tally struct {
	exempt map[string]string
	kept   map[string]bool // by property: whether some sample did not skip it
}

// note records the end of a subtest.
func (y *tally) note(t *testing.T, property string) {
	y.kept[property] = y.kept[property] || !t.Skipped()
}

// cannot skips a property that this system or build cannot show, which is no
// fault of the format's.
func (y *tally) cannot(t *testing.T, property, why string) {
	y.kept[property] = true
	t.Skip(why)
}

// complete fails for what was skipped everywhere, and for exemptions that mean
// nothing.
func (y *tally) complete(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(y.kept)) {
		if !y.kept[name] {
			t.Errorf("every sample skips %s: add one that does not, or say in Config.Exempt why there is none", name)
		}
	}
	known := properties()
	for _, name := range slices.Sorted(maps.Keys(y.exempt)) {
		if !slices.Contains(known, name) {
			t.Errorf("Config.Exempt names %q, which is not a property", name)
		}
		if y.exempt[name] == "" {
			t.Errorf("Config.Exempt gives no reason for %s", name)
		}
	}
}

// properties lists all names.
func properties() []string {
	var list []string
	for _, p := range slices.Concat(reading, writing) {
		list = append(list, p.name)
	}
	for _, p := range scaling {
		list = append(list, p.name)
	}
	return list
}
