package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/weightmap/weightmap/internal/peers/peer"
)

// tally counts a reader's verdicts on a corpus.
type tally struct {
	version          string
	bad, good        int // number of files that the specification refuses and accepts
	accepts          int // of bad files
	wrong, refuses   int // of good files: other values, an error
	crashes          int // of all files, including choices
	hangs, swellings int
	details          []string
}

const header = `| reader | version | format | malformed, good | accepts wrongly | wrong values | refuses wrongly | crashes | hangs | memory |
|---|---|---|---|---|---|---|---|---|---|`

func (t *tally) row(reader, format string) string {
	return fmt.Sprintf("| %s | %s | %s | %d, %d | %d | %d | %d | %d | %d | %d |", reader, t.version, format,
		t.bad, t.good, t.accepts, t.wrong, t.refuses, t.crashes, t.hangs, t.swellings)
}

// try makes a reader open all files, and restarts it after it ended.
func (r *reader) try(files []index, limits bounds) (*tally, error) {
	argv, err := r.command()
	if err != nil {
		return nil, err
	}
	p, version, err := start(argv, r.dir, limits)
	if err != nil {
		return nil, err
	}
	t := &tally{version: version}
	for i := range files {
		x := &files[i]
		if x.several() && !r.several {
			continue
		}
		a, f, detail := p.ask(x.path)
		t.count(x, a, f, detail)
		if f != answered {
			if p, _, err = start(argv, r.dir, limits); err != nil {
				return nil, err
			}
		}
	}
	p.stop()
	return t, nil
}

// count adds an answer.
func (t *tally) count(x *index, a peer.Answer, f fate, detail string) {
	if !x.choice {
		if x.Want == "ok" {
			t.good++
		} else {
			t.bad++
		}
	}
	note := func(n *int, what string) {
		*n++
		t.details = append(t.details, fmt.Sprintf("%s: %s %s", x.Name, what, detail))
	}
	switch {
	case f == crashed:
		note(&t.crashes, "crashes:")
	case f == hung:
		note(&t.hangs, "hangs:")
	case f == swelled:
		note(&t.swellings, "memory:")
	case x.choice:
	case x.Want != "ok" && a.Error == "":
		note(&t.accepts, "accepts wrongly")
	case x.Want == "ok" && a.Error != "":
		note(&t.refuses, "refuses wrongly:")
	case x.Want == "ok" && !x.holds(a.Tensors):
		note(&t.wrong, "wrong values")
	}
}

// holds reports whether the tensors match the index, in any order.
func (x *index) holds(tensors []peer.Tensor) bool {
	if len(tensors) != len(x.Tensors) {
		return false
	}
	sum := sha256.New()
	for _, want := range x.Tensors {
		i := slices.IndexFunc(tensors, func(t peer.Tensor) bool { return t.Name == want.Name })
		if i < 0 {
			return false
		}
		sum.Write(rows(tensors[i]))
	}
	return hex.EncodeToString(sum.Sum(nil)) == x.SHA256
}

// rows returns a tensor's data in C order.
func rows(t peer.Tensor) []byte {
	n := int64(1)
	for _, d := range t.Shape {
		if d <= 0 || d > int64(len(t.Data))/n {
			return t.Data
		}
		n *= d
	}
	if !t.Columns || int64(len(t.Data))%n != 0 {
		return t.Data
	}
	size := int64(len(t.Data)) / n
	out := make([]byte, 0, len(t.Data))
	for i := range n {
		// Compute the indexes of element i, last dimension first, and its position in Fortran order.
		from, rest, stride := int64(0), i, n
		for k := len(t.Shape) - 1; k >= 0; k-- {
			stride /= t.Shape[k]
			from += rest % t.Shape[k] * stride
			rest /= t.Shape[k]
		}
		out = append(out, t.Data[from*size:(from+1)*size]...)
	}
	return out
}
