package wire

// ahead predicts the reads of a Window. The layers of a network repeat, and so do the distances
// between reads. So the system can read the next pieces ahead: opening 300 tensors in 100 MB takes
// 0.3 of the time if the file is not in the system's cache (benchmarks cold/*).
type ahead struct {
	clusters [clusters]cluster // the last ones, by number modulo clusters
	n        int               // number of clusters so far
	period   int               // clusters in a layer, 0 if unknown
	told     int               // number of the cluster up to which the system reads ahead
}

// cluster is a range of reads that are close to each other.
type cluster struct{ from, to int64 }

const (
	clusters  = 64      // more than in a layer
	farther   = 4 << 10 // a read at a greater distance begins a cluster
	alike     = 256     // tolerated difference of distances: numbers in names and alignment vary
	mostAhead = 16      // maximum number of clusters to read ahead
)

// prefetcher is a file with source.Region's ReadSoon, which reports whether the range was not in
// the system's cache.
type prefetcher interface {
	ReadSoon(off, n int64) bool
}

func (a *ahead) at(i int) *cluster { return &a.clusters[i%clusters] }

// stride returns the distance of cluster i from the one before.
func (a *ahead) stride(i int) int64 { return a.at(i).from - a.at(i-1).from }

// read records a read and prefetches the next ones.
func (a *ahead) read(file File, from, to int64) {
	if a.n > 0 && a.at(a.n-1).takes(from, to) {
		return
	}
	*a.at(a.n) = cluster{from, to}
	a.n++
	if a.period == 0 || !a.repeats(a.n-1, a.period) {
		a.told = a.n
		a.period = a.findPeriod()
	}
	if a.period > 0 && a.told < a.n+mostAhead/2 {
		r, ok := file.(prefetcher)
		if ok {
			a.tell(r, file.Size())
		}
	}
}

// takes adds a range to the cluster if it is close to it.
func (c *cluster) takes(from, to int64) bool {
	if from < c.from || from >= c.to+farther {
		return false
	}
	c.to = max(c.to, to)
	return true
}

// repeats reports whether cluster i has the same stride as that of a period before.
func (a *ahead) repeats(i, period int) bool {
	if i-period < max(1, a.n-clusters+1) {
		return false
	}
	d := a.stride(i) - a.stride(i-period)
	return -alike < d && d < alike
}

// findPeriod returns the smallest period of the last two clusters, or 0.
func (a *ahead) findPeriod() int {
	for p := 1; p < min(a.n, clusters); p++ {
		if a.repeats(a.n-1, p) && a.repeats(a.n-2, p) {
			return p
		}
	}
	return 0
}

// tell asks the system to read the next clusters, unless they are in its cache.
func (a *ahead) tell(r prefetcher, size int64) {
	pos := a.at(a.n - 1).from
	cached := 0
	for i := a.n; i < a.n+mostAhead; i++ {
		like := a.n - a.period + (i-a.n)%a.period
		c := a.at(like)
		pos += a.stride(like)
		if i < a.told {
			continue
		}
		from := max(0, pos-alike)
		to := min(pos+c.to-c.from+alike, size)
		if from >= to {
			break
		}
		if r.ReadSoon(from, to-from) {
			cached = 0
			continue
		}
		cached++
		if cached == 3 {
			a.told = a.n + clusters // asking more often would slow down opening a cached file
			return
		}
	}
	a.told = a.n + mostAhead
}
