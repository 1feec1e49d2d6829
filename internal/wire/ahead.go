package wire

// ahead guesses what a window reads next. The layers of a network repeat, and with them the distances between the
// pieces that are read. While one is looked at, the system reads those to come: opening 300 tensors in 100 MB takes
// 0.3 of the time when the file is not in the system's cache (benchmarks cold/*).
type ahead struct {
	clusters [clusters]cluster // the last, by number
	n        int               // clusters so far
	period   int               // clusters in a layer, 0 if not known
	told     int               // clusters that the system was told of, or has
}

// cluster is a range in which pieces lie close to each other.
type cluster struct{ from, to int64 }

const (
	clusters  = 64      // more than a layer has
	farther   = 4 << 10 // than that is another cluster
	alike     = 256     // distances that differ less are the same: names have numbers, data is aligned
	mostAhead = 16      // clusters
)

// prefetcher is a file that reads into the system's cache. ReadSoon reports whether the range was not there yet.
type prefetcher interface {
	ReadSoon(off, n int64) bool
}

func (a *ahead) at(i int) *cluster { return &a.clusters[i%clusters] }

// stride is the distance of cluster i from the one before.
func (a *ahead) stride(i int) int64 { return a.at(i).from - a.at(i-1).from }

// read notes that a piece is read from a file.
func (a *ahead) read(file Sized, from, to int64) {
	if a.n > 0 {
		if c := a.at(a.n - 1); from >= c.from && from < c.to+farther {
			c.to = max(c.to, to)
			return
		}
	}
	*a.at(a.n) = cluster{from, to}
	a.n++
	if a.period == 0 || !a.repeats(a.n-1, a.period) {
		a.told = a.n
		a.period = a.findPeriod()
	}
	if a.period > 0 && a.told < a.n+mostAhead/2 {
		if r, ok := file.(prefetcher); ok {
			a.tell(r, file.Size())
		}
	}
}

// repeats reports whether cluster i is as far from the one before as that of a period ago.
func (a *ahead) repeats(i, period int) bool {
	if i-period < max(1, a.n-clusters+1) {
		return false
	}
	d := a.stride(i) - a.stride(i-period)
	return -alike < d && d < alike
}

// findPeriod returns the least period of the last two clusters, 0 for none.
func (a *ahead) findPeriod() int {
	for p := 1; p < min(a.n, clusters); p++ {
		if a.repeats(a.n-1, p) && a.repeats(a.n-2, p) {
			return p
		}
	}
	return 0
}

// tell has the clusters read that come next, unless the system has them.
func (a *ahead) tell(r prefetcher, size int64) {
	pos, cached := a.at(a.n-1).from, 0
	for i := a.n; i < a.n+mostAhead; i++ {
		like := a.n - a.period + (i-a.n)%a.period
		c := a.at(like)
		pos += a.stride(like)
		if i < a.told {
			continue
		}
		from, to := max(0, pos-alike), min(pos+c.to-c.from+alike, size)
		if from >= to {
			break
		}
		if r.ReadSoon(from, to-from) {
			cached = 0
		} else if cached++; cached == 3 {
			a.told = a.n + clusters // to ask more often would slow down opening what is in the cache
			return
		}
	}
	a.told = a.n + mostAhead
}
