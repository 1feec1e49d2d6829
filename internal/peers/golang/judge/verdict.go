package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weightmap/weightmap/internal/peers/golang/library"
	"github.com/weightmap/weightmap/internal/strided"
)

// fault is what a reader does wrong with a file; "" is nothing.
type fault string

const (
	accepts fault = "accepts wrongly"
	wrong   fault = "wrong values"
	refuses fault = "refuses wrongly"
	crashes fault = "crashes"
	hangs   fault = "hangs"  // exceeds the time
	swells  fault = "memory" // cannot allocate
)

// faults are the columns of the table.
var faults = []fault{accepts, wrong, refuses, crashes, hangs, swells}

// tally counts a reader's verdicts on a corpus.
type tally struct {
	version   string
	bad, good int           // number of files that the specification refuses and accepts
	faults    map[fault]int // crashes, hangs and memory also of choices
	details   []string
}

func header() string {
	text := "| reader | version | format | malformed, good |"
	for _, f := range faults {
		text += fmt.Sprintf(" %s |", f)
	}
	return text + "\n|---|---|---|---|" + strings.Repeat("---|", len(faults))
}

func (t *tally) row(reader, format string) string {
	text := fmt.Sprintf("| %s | %s | %s | %d, %d |", reader, t.version, format, t.bad, t.good)
	for _, f := range faults {
		text += fmt.Sprintf(" %d |", t.faults[f])
	}
	return text
}

// try makes a reader open all files.
func (r *reader) try(files []index, limit time.Duration) *tally {
	t := &tally{faults: map[fault]int{}}
	for i := range files {
		x := &files[i]
		if x.several() && !r.several {
			continue
		}
		a, f, detail := r.read(x.path, limit)
		t.count(x, a, f, detail)
	}
	return t
}

// count adds an answer, or the fault that ended the reader.
func (t *tally) count(x *index, a answer, f fault, detail string) {
	isGood, isError := x.Want == "ok", a.Error != ""
	if a.Version != "" {
		t.version = a.Version
	}
	switch {
	case x.choice:
	case isGood:
		t.good++
	default:
		t.bad++
	}
	switch {
	case f != "" || x.choice:
	case !isGood && !isError:
		f = accepts
	case isGood && isError:
		f = refuses
	case isGood && !x.holds(a.Tensors):
		f = wrong
	}
	if f != "" {
		t.faults[f]++
		t.details = append(t.details, fmt.Sprintf("%s: %s: %s", x.Name, f, detail))
	}
}

// holds reports whether the tensors match the index, in any order.
func (x *index) holds(tensors []library.Tensor) bool {
	if len(tensors) != len(x.Tensors) {
		return false
	}
	sum := sha256.New()
	for _, want := range x.Tensors {
		i := slices.IndexFunc(tensors, func(t library.Tensor) bool { return t.Name == want.Name })
		if i < 0 {
			return false
		}
		sum.Write(rows(tensors[i]))
	}
	return hex.EncodeToString(sum.Sum(nil)) == x.SHA256
}

// rows returns a tensor's data in C order.
func rows(t library.Tensor) []byte {
	n, strides := int64(1), make([]int64, len(t.Shape))
	for i, d := range t.Shape {
		if d <= 0 || d > int64(len(t.Data))/n {
			return t.Data
		}
		strides[i] = n
		n *= d
	}
	if !t.Columns || int64(len(t.Data))%n != 0 {
		return t.Data
	}
	out := make([]byte, len(t.Data))
	strided.Gather(out, t.Data, t.Shape, strides, len(t.Data)/int(n))
	return out
}
