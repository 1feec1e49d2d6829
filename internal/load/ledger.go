package load

import (
	"slices"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
)

// ledger records which checksums cover which tensors and sections.
type ledger struct {
	mu        sync.Mutex
	sections  []Section
	by        []string
	covered   []uint16 // by tensor
	signature driver.SignatureState
}

// Section implements driver.Verification.
func (l *ledger) Section(name, by string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sections == nil {
		l.sections = make([]Section, 0, 4) // few files have more
	}
	l.sections = append(l.sections, Section{name, by})
}

// Cover implements driver.Verification.
func (l *ledger) Cover(i int, by string) {
	if l.covered != nil { // otherwise this is a check before first use
		l.covered[i] = l.number(by)
	}
}

// number returns the number of a checksum. Workers set the entries of their tensors
// without a lock.
func (l *ledger) number(by string) uint16 {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := slices.Index(l.by, by)
	if k < 0 {
		k = len(l.by)
		l.by = append(l.by, by)
	}
	return uint16(min(k, NotLooked-1))
}

// Signed implements driver.Verification.
func (l *ledger) Signed(s driver.SignatureState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.signature = s
}

// coverage returns the record.
func (l *ledger) coverage() Coverage {
	return Coverage{Sections: l.sections, Signature: l.signature, By: l.by, Tensors: l.covered}
}
