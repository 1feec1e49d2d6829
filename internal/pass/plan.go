package pass

import "cmp"

// Extent is a range of a numbered file that is read at once. Several tensors may share one.
type Extent struct {
	File         uint32
	Offset, Size int64
	IsAlone      bool // it is read by itself, such as a compressed tensor
}

// Compare orders extents by their places in the files.
func (e Extent) Compare(x Extent) int {
	return cmp.Or(cmp.Compare(e.File, x.File), cmp.Compare(e.Offset, x.Offset), cmp.Compare(e.Size, x.Size))
}

// Job is a run of neighbors that are read at once, the items From to To, and the range of all of
// them.
type Job struct {
	Extent
	From, To int
}

// MaxGap is the maximum number of unused bytes between two neighbors.
const MaxGap = 32 << 10

// Jobs divides n items in the order of the files, of which at returns the extents, into jobs of at
// most limit bytes, or one item. Items with the same extent are in the same job.
func Jobs(n int, limit int64, at func(k int) Extent) []Job {
	var jobs []Job
	for from := 0; from < n; {
		j := Job{at(from), from, from + 1}
		for last := j.Extent; j.To < n && !j.IsAlone; j.To++ {
			next := at(j.To)
			size := max(j.Size, next.Offset+next.Size-j.Offset)
			isFar := next.Offset-j.Offset-j.Size > MaxGap || size > limit
			if next.File != j.File || next.IsAlone || next != last && isFar {
				break
			}
			j.Size = size
			last = next
		}
		jobs = append(jobs, j)
		from = j.To
	}
	return jobs
}
