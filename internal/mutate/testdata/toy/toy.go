// Package toy is a parser whose tests have gaps.
package toy

import "errors"

var errBad = errors.New("bad")

func fail() error { return errBad }

// records reads a count and that many records, each preceded by its length.
func records(b []byte) (n int, err error) {
	if len(b) == 0 || b[0] > 9 {
		return 0, errBad
	}
	for at := 1; n < int(b[0]); n++ {
		size := recordSize(b, at)
		if size == 0 {
			err = errBad
		}
		if err != nil {
			return n, err
		}
		switch {
		case b[at+1] == 0xff:
			return n, fail()
		case b[at+1] == 0xfe:
			continue
		}
		at += size
	}
	return n, nil
}

// recordSize returns 0 if the record is incomplete.
func recordSize(b []byte, at int) int {
	if at+1 >= len(b) {
		return 0
	}
	if b[at] > 100 {
		return 0
	}
	return int(b[at])
}
