package load

import (
	"cmp"
	"slices"

	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/work"
)

// group is a run of tensors that a worker checks together. From a reader, a
// group of small neighbors is fetched with one request.
type group struct {
	which     []int
	off, size int64 // the range to request; size 0 for none
}

// maxGap is the maximum number of unused bytes between two tensors that are fetched with
// one request.
const maxGap = 32 << 10

// mostInGroup is the maximum number of tensors in a group, so that all workers are busy.
const mostInGroup = 64

// mostBytesInGroup is the maximum size of a group of several tensors. Larger models have
// sixteen groups for each worker.
const mostBytesInGroup = 4 << 20

// group divides the list of tensors, of total bytes, into groups.
func (v *verification) group(which []int, total int64) []group {
	remote, step := !v.m.main.InMemory(), v.step()
	if remote {
		slices.SortFunc(which, func(a, b int) int {
			_, x, _ := v.m.index.Place(a)
			_, y, _ := v.m.index.Place(b)
			return cmp.Compare(x, y)
		})
	}
	most := min(max(total/int64(v.workers()*16), work.Step), mostBytesInGroup)
	// An upper bound in memory: a group is full, or it and the next exceed a step.
	groups := make([]group, 0, min(int64(len(which)), int64(len(which)/mostInGroup)+2*(max(total, 0)/work.Step)+1))
	for from := 0; from < len(which); {
		to, end := from+1, int64(0)
		first := v.offset(which[from])
		if first >= 0 {
			end = first + v.m.index.Size(which[from])
		}
		bytes := v.m.index.Size(which[from])
		for ; to < len(which); to++ {
			size, off := v.m.index.Size(which[to]), v.offset(which[to])
			if remote {
				if first < 0 || off < 0 || off > end+maxGap || max(end, off+size)-first > step {
					break
				}
				end = max(end, off+size)
			} else if to-from >= mostInGroup || bytes+size > most {
				break
			}
			bytes += size
		}
		g := group{which: which[from:to]}
		if remote && to-from > 1 {
			g.off, g.size = first, end-first
		}
		groups = append(groups, g)
		from = to
	}
	return groups
}

// offset returns the offset of tensor i in the model's own file, or -1 if it is in another
// file or form.
func (v *verification) offset(i int) int64 {
	s, off, _ := v.m.index.Place(i)
	if s != 0 || v.m.index.Loaded(i) {
		return -1
	}
	return off
}

// verifyGroup checks the tensors of a group.
func (v *verification) verifyGroup(g *group, wide bool) error {
	var fetched []byte
	if g.size > 0 {
		buf := buffer(g.size)
		defer steps.Put(buf)
		fetched = (*buf)[:g.size]
		if _, err := v.m.main.ReadAtContext(v.ctx, fetched, g.off); err != nil {
			return err
		}
	}
	last, number := "", uint16(NotLooked)
	for _, i := range g.which {
		by, err := "", error(nil)
		if fetched != nil {
			s := v.sum(i)
			by, err = v.inPlace(i, s, func() (uint64, error) {
				_, off, size := v.m.index.Place(i)
				v.Done(size, v.m.index.Name(i))
				return checksum.Of(s.Kind, fetched[off-g.off:][:size]), v.ctx.Err()
			})
		} else {
			by, err = v.tensor(i, wide)
		}
		if err != nil {
			return err
		}
		if by != last || number == NotLooked {
			last, number = by, v.number(by)
		}
		v.Coverage.Tensors[i] = number
	}
	return nil
}
