package convert

import "github.com/cespare/xxhash/v2"

// passage is a tensor on its way from the mapping into the target.
type passage struct {
	j    *job
	left []byte
	sum  *xxhash.Digest
}

// pass notes that n more bytes were written. They are summed now, while they are still in
// the processor's cache.
func (p *passage) pass(n int) {
	n = min(n, len(p.left))
	if p.j.o.Verify {
		p.sum.Write(p.left[:n])
	}
	p.left = p.left[n:]
	p.j.read.Used(int64(n))
}

// progress is told by the writer how far it is, and tells the caller.
func (j *job) progress(done, total int64, tensor string) {
	if j.passage != nil {
		j.passage.pass(int(done - j.taken))
	}
	j.taken = done
	if j.o.Progress != nil {
		j.o.Progress(done, total, tensor)
	}
}

// decodedMost is how large a tensor that the source decodes may be next to others.
const decodedMost = 8 << 20

// workersFor returns how many tensors are converted at a time: of large ones that the source
// decodes, one.
func workersFor(items []*item) int {
	for _, it := range items {
		if info := it.from.Info(); info.Offset < 0 && info.Size > decodedMost {
			return 1
		}
	}
	return workers()
}
