package engine

import (
	"context"
	"crypto"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
)

// authenticate demands that the file was signed by a key, as it was parsed: what the
// parser read is hashed from the recorder's memory, the rest from the file.
func (m *Model) authenticate(ctx context.Context, key crypto.PublicKey, seen *recorder) error {
	if r := m.spaces.record; r != nil {
		return explain(r.check(ctx, m, seen), m.desc.Name, m.path)
	}
	if err := m.checkTrusted(key, m.parsed.Authenticate != nil); err != nil {
		return err
	}
	v := newVerification(m, ctx, &VerifyOptions{Trusted: key})
	v.seen = seen
	return explain(m.guard(func() error { return m.parsed.Authenticate(v) }), m.desc.Name, m.path)
}

// checkTrusted refuses what is no public key, and any key for a format that does not sign. All
// public keys of package crypto have this Equal, private ones another; which kinds
// can have signed a file is the format's to say.
func (m *Model) checkTrusted(key crypto.PublicKey, signs bool) error {
	if _, public := key.(interface{ Equal(crypto.PublicKey) bool }); !public {
		return m.errorf("signature", -1, fmt.Errorf("%w: %w", driver.ErrKey, driver.ErrSignature), "the trusted key is no public key, but a %T", key)
	}
	if !signs {
		return m.errorf("signature", -1, driver.ErrSignature, "the format has no signatures")
	}
	return nil
}

// recorder is the Source of a file that is parsed and authenticated. Everything that
// is read comes from private memory and stays the same when it is read again, so that
// no other process can show one file to the parser and another to who checks the
// signature.
type recorder struct {
	*file
	mu     sync.Mutex
	done   bool    // all has been checked: from here on it is file
	pieces []piece // apart from each other, ascending
}

// piece is a part of the file that was read.
type piece struct {
	off  int64
	data []byte
}

func (p *piece) end() int64 { return p.off + int64(len(p.data)) }

// stop ends recording.
func (r *recorder) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done, r.pieces = true, nil
}

// InMemory implements driver.Source: what is recorded costs something.
func (r *recorder) InMemory() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done && r.file.InMemory()
}

// Slice implements driver.Source.
func (r *recorder) Slice(off, n int64) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.file.Slice(off, n)
	if err != nil || r.done {
		return b, err
	}
	if r.file.InMemory() {
		b = slices.Clone(b)
	}
	r.record(b, off)
	return b, nil
}

// ReadAt implements driver.Source.
func (r *recorder) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.file.ReadAt(p, off)
	if !r.done && n > 0 {
		r.record(p[:n], off)
	}
	return n, err
}

// record replaces what is known in bytes that were read at off, and remembers the rest.
func (r *recorder) record(b []byte, off int64) {
	at, end := off, off+int64(len(b))
	i := r.first(off)
	for at < end {
		if i < len(r.pieces) && r.pieces[i].off <= at {
			n := copy(b[at-off:], r.pieces[i].data[at-r.pieces[i].off:])
			at += int64(n)
			i++
			continue
		}
		stop := end
		if i < len(r.pieces) {
			stop = min(end, r.pieces[i].off)
		}
		r.pieces = append(r.pieces, piece{})
		copy(r.pieces[i+1:], r.pieces[i:])
		r.pieces[i] = piece{at, slices.Clone(b[at-off : stop-off])}
		at = stop
		i++
	}
}

// first returns the first piece that ends behind off.
func (r *recorder) first(off int64) int {
	return sort.Search(len(r.pieces), func(i int) bool { return r.pieces[i].end() > off })
}

// feed writes size bytes at off of the file to h: what was recorded from memory, the
// rest by live.
func (r *recorder) feed(h io.Writer, off, size int64, live func(off, size int64) error, done func(n int64)) error {
	end := off + size
	for i := r.first(off); off < end; {
		if i == len(r.pieces) || r.pieces[i].off >= end {
			return live(off, end-off)
		}
		p := &r.pieces[i]
		if off < p.off {
			if err := live(off, p.off-off); err != nil {
				return err
			}
			off = p.off
		}
		known := p.data[off-p.off : min(end, p.end())-p.off]
		if _, err := h.Write(known); err != nil {
			return err
		}
		done(int64(len(known)))
		off += int64(len(known))
		i++
	}
	return nil
}

var _ driver.Source = (*recorder)(nil)
