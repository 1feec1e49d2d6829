package tensor

import "github.com/weightmap/weightmap/internal/memory"

// pager populates the bytes of a mapped tensor just before they are read: see memory.Populate.
type pager struct {
	owner memory.Advisor // nil if the bytes are not in a mapping
	data  []byte
	ready int // end of the bytes that were populated or read
}

// fewBytes is the size below which populating does not pay for the system call.
const fewBytes = 64 << 10

func (v *View) pager(data []byte) pager {
	owner, _ := v.ref().Owner().(memory.Advisor)
	return pager{owner, data, -fewBytes}
}

// need prepares for a read of n bytes at off. Consecutive small reads are populated together; for scattered
// ones, page faults are cheaper.
func (p *pager) need(off, n int) {
	end := off + n
	switch {
	case p.owner == nil || end <= p.ready:
		return
	case n < fewBytes && off-p.ready >= fewBytes:
		p.ready = end
		return
	case n < fewBytes:
		end = min(off+memory.PopulateStep, len(p.data))
	}
	_, _ = p.owner.Advise(memory.Populate, p.data[off:end])
	p.ready = end
}

// copy copies the bytes at off to dst.
func (p *pager) copy(dst []byte, off int) {
	for len(dst) > 0 {
		n := min(len(dst), memory.PopulateStep)
		p.need(off, n)
		copy(dst[:n], p.data[off:])
		dst, off = dst[n:], off+n
	}
}
