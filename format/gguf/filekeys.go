package gguf

import (
	"fmt"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
)

// fileKeys are the keys that are about the files and not about the model; those before alignment
// are left out of its metadata.
var fileKeys = [...]string{
	splitNo:      "split.no",
	splitCount:   "split.count",
	splitTensors: "split.tensors.count",
	alignment:    keyAlignment,
}

const (
	splitNo = iota
	splitCount
	splitTensors
	alignment
)

func isSplitKey(key string) bool { return slices.Contains(fileKeys[:alignment], key) }

// located is an integer of the metadata, and where it is: at 0 if it is missing.
type located struct{ value, at int64 }

// note takes an entry that describes the file; the first of each key counts.
func (p *part) note(e *entry) error {
	key := slices.Index(fileKeys[:], e.key)
	if key < 0 || p.said[key].at > 0 {
		return nil
	}
	n, isInteger := whole(e.value).neutral(e.typ).(int64)
	p.said[key] = located{n, e.at}
	if key == alignment {
		return checkStoredAlign(e, n)
	}
	if !isInteger || n < 0 || n > math.MaxInt32 {
		return wire.Errorf(formatName, "metadata value", e.at, format.ErrCorrupt,
			"no integer of 0 to 2^31-1")
	}
	return nil
}

// checkStoredAlign checks the alignment n of an entry.
func checkStoredAlign(e *entry, n int64) error {
	if e.typ != typeUint32 {
		return wire.Errorf(formatName, "metadata type", e.at-4, format.ErrCorrupt,
			"type %d; the alignment is a uint32", e.typ)
	}
	err := checkAlign(uint32(n))
	if err != nil {
		err = fmt.Errorf("%w: %w", format.ErrCorrupt, err)
		return wire.Error(formatName, "metadata value", e.at, err)
	}
	return nil
}

// errorf is an error about one of the keys.
func errorf(key int, at int64, text string, args ...any) error {
	return wire.Errorf(formatName, fileKeys[key], at, format.ErrCorrupt, text, args...)
}

// checkAlign refuses numbers that are no alignment.
func checkAlign(n uint32) error {
	if n < minAlign || n&(n-1) != 0 {
		return fmt.Errorf("alignment %d is no power of two of at least %d", n, minAlign)
	}
	return nil
}
