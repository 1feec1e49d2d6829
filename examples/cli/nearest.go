package cli

import (
	"cmp"
	"slices"
	"strings"
)

// DidYouMean suggests names similar to a misspelled word, as the end of a message: "; did you mean
// -json?". It returns "" if no name is similar.
func DidYouMean(word, prefix string, names []string) string {
	near := Nearest(word, names)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + prefix + strings.Join(near, " or "+prefix) + "?"
}

// effort limits the total cost of comparing a word with all names in a file.
const effort = 100_000_000

// Nearest returns up to three names, the most similar first, that differ from word in a few edits
// or contain it.
func Nearest(word string, names []string) []string {
	const most = 3
	type candidate struct {
		name string
		cost int
	}
	var near []candidate
	folded := strings.ToLower(word)
	limit := max(len(word)/3, min(1, len(word)-1))
	work := 0
	for _, name := range names {
		work += len(name) + 1
		if work > effort {
			break
		}
		other := strings.ToLower(name)
		cost := limit + 1
		if abs(len(other)-len(folded)) <= limit {
			a, b := trim(folded, other)
			work += len(a) * len(b)
			cost = distance(a, b)
		}
		if cost > limit && len(word) > 1 && strings.Contains(other, folded) {
			cost = limit // more than in most misspellings
		}
		if cost <= limit {
			near = append(near, candidate{name, cost})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	var best []string
	for _, c := range near[:min(most, len(near))] {
		if near[0].cost <= 1 && c.cost > near[0].cost+1 {
			break // next to a slip, others are far-fetched
		}
		best = append(best, c.name)
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// trim removes the common prefix and suffix.
func trim(a, b string) (string, string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a = a[1:]
		b = b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a = a[:len(a)-1]
		b = b[:len(b)-1]
	}
	return a, b
}

// distance returns the number of bytes to insert, delete, replace or swap with a neighbor to turn a
// into b.
func distance(a, b string) int {
	above := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	next := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost = 1 + min(row[j], next[j], row[j+1])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, above[j-1]+1)
			}
			next[j+1] = cost
		}
		above, row, next = row, next, above
	}
	return row[len(b)]
}
