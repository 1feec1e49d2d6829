package pass

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestJobs: neighbors are read together, up to a limit, and what is far apart or read by itself is not.
func TestJobs(t *testing.T) {
	const limit = 100 << 10
	for _, tt := range []struct {
		name string
		list []Extent
		want [][2]int // from, to
	}{
		{"nothing", nil, nil},
		{"neighbors", []Extent{{0, 0, 10, false}, {0, 10, 5, false}, {0, 15 + MaxGap, 5, false}}, [][2]int{{0, 3}}},
		{"a gap", []Extent{{0, 0, 10, false}, {0, 11 + MaxGap, 5, false}}, [][2]int{{0, 1}, {1, 2}}},
		{"the limit", []Extent{{0, 0, 60 << 10, false}, {0, 60 << 10, 40 << 10, false}, {0, 100 << 10, 1, false}}, [][2]int{{0, 2}, {2, 3}}},
		{"larger than the limit", []Extent{{0, 0, 1 << 20, false}, {0, 1 << 20, 1, false}}, [][2]int{{0, 1}, {1, 2}}},
		{"the same range", []Extent{{0, 0, 1 << 20, false}, {0, 0, 1 << 20, false}, {0, 0, 1 << 20, false}}, [][2]int{{0, 3}}},
		{"overlaps", []Extent{{0, 0, 10, false}, {0, 5, 10, false}}, [][2]int{{0, 2}}},
		{"another file", []Extent{{0, 0, 10, false}, {1, 10, 5, false}}, [][2]int{{0, 1}, {1, 2}}},
		{"alone", []Extent{{0, 0, 10, false}, {0, 10, 5, true}, {0, 15, 5, false}}, [][2]int{{0, 1}, {1, 2}, {2, 3}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got [][2]int
			for _, j := range Jobs(len(tt.list), limit, func(k int) Extent { return tt.list[k] }) {
				got = append(got, [2]int{j.From, j.To})
				end := j.Offset
				for _, e := range tt.list[j.From:j.To] {
					end = max(end, e.Offset+e.Size)
				}
				if j.File != tt.list[j.From].File || j.Offset != tt.list[j.From].Offset || j.Size != end-j.Offset {
					t.Errorf("%d to %d: %d bytes at %d", j.From, j.To, j.Size, j.Offset)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
