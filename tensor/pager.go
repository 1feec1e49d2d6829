package tensor

import "github.com/weightmap/weightmap/internal/memory"

// pager has the bytes of a tensor populated before they are read: see memory.Populate.
type pager struct {
	owner memory.Advisor // nil if they are not in a mapping
	data  []byte
	ready int // populated, or read, up to here
}

// fewBytes are not worth a system call.
const fewBytes = 64 << 10

func (v *View) pager(data []byte) pager {
	owner, _ := v.ref().Owner().(memory.Advisor)
	return pager{owner, data, -fewBytes}
}

// need is told that n bytes from off on are read next. Reads of a few bytes that follow one another count as
// one; where they jump, page faults are cheaper.
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

// copy fills dst from off on.
func (p *pager) copy(dst []byte, off int) {
	for len(dst) > 0 {
		n := min(len(dst), memory.PopulateStep)
		p.need(off, n)
		copy(dst[:n], p.data[off:])
		dst, off = dst[n:], off+n
	}
}
