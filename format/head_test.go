package format

import (
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestHeadIsAllThereIs: a parser that reads far behind the head is stopped before it has read zeros.
func TestHeadIsAllThereIs(t *testing.T) {
	for far, want := range map[int64]string{
		readAhead:     "it ends at",
		readAhead + 1: "only the first 8 bytes of the file are there",
	} {
		d := &toy{before: func(src driver.Source) error { _, err := driver.Prefix(src, 8+far); return err }}
		_, err := OpenHead(ramp(8), 1<<40, &Options{Format: asFormat{d}})
		expect.Says(t, ErrTruncated, want)(nil, err)
	}
}
