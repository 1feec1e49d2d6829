package pass

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCover: a range is covered by the span that has all of it, in its own file.
func TestCover(t *testing.T) {
	c := NewCover([]Span{{1, 50, 10, 5}, {0, 0, 100, 1}, {0, 10, 20, 2}, {0, 200, 10, 3}, {0, 205, 100, 4}})
	for _, tt := range []struct {
		name      string
		file      int
		off, size int64
		want      int
	}{
		{"all of it", 0, 0, 100, 1},
		{"inside two", 0, 12, 5, 1},
		{"across the end of the inner one", 0, 25, 50, 1},
		{"across the end", 0, 90, 20, -1},
		{"between", 0, 150, 1, -1},
		{"the longer of two", 0, 206, 50, 4},
		{"before the longer", 0, 203, 50, -1},
		{"another file", 1, 52, 3, 5},
		{"before all of another file", 1, 0, 3, -1},
		{"no file", 2, 0, 1, -1},
	} {
		if got := c.Of(tt.file, tt.off, tt.size); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	want := []Span{{0, 0, 100, 1}, {0, 10, 20, 2}, {0, 200, 10, 3}, {0, 205, 100, 4}, {1, 50, 10, 5}}
	if d := cmp.Diff(want, c.Spans()); d != "" {
		t.Error(d)
	}
}

// TestGaps: what no span covers is listed once, with its owner.
func TestGaps(t *testing.T) {
	for _, tt := range []struct {
		name            string
		sizes           []int64
		covered, owners []Span
		want            []Span
	}{
		{"nothing is covered", []int64{10}, nil, nil, []Span{{0, 0, 10, -1}}},
		{"all is covered", []int64{10}, []Span{{0, 0, 10, 0}}, nil, nil},
		{"in any order", []int64{10}, []Span{{0, 6, 4, 0}, {0, 0, 3, 0}}, nil, []Span{{0, 3, 3, -1}}},
		{"overlaps", []int64{10}, []Span{{0, 0, 8, 0}, {0, 2, 2, 0}}, nil, []Span{{0, 8, 2, -1}}},
		{"beyond the file", []int64{10}, []Span{{0, 5, 100, 0}}, nil, []Span{{0, 0, 5, -1}}},
		{"owners", []int64{20}, []Span{{0, 12, 8, 0}}, []Span{{0, 8, 6, 2}, {0, 2, 3, 1}},
			[]Span{{0, 0, 2, -1}, {0, 2, 3, 1}, {0, 5, 3, -1}, {0, 8, 4, 2}}},
		{"files", []int64{5, -1, 5}, []Span{{2, 0, 4, 0}, {1, 0, 4, 0}}, []Span{{0, 0, 5, 7}},
			[]Span{{0, 0, 5, 7}, {2, 4, 1, -1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Gaps(tt.sizes, tt.covered, tt.owners)); d != "" {
				t.Error(d)
			}
		})
	}
}
