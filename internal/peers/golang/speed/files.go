package main

import (
	"strconv"

	"github.com/weightmap/weightmap/internal/bench"
)

// columns are the table's names of the models.
var columns = []string{"20 tensors, 2 MB", "300 tensors, 100 MB", "10,000 tensors of 256 bytes"}

// entry is a tensor as a library lists it.
type entry struct {
	Name string
	Size int64
}

// described returns the entries that every library should list. MOBI has numbers as names.
func described(m bench.Model, numbered bool) (all []entry) {
	p, _ := m.Plan()
	for i, t := range p.Tensors {
		e := entry{t.Name, t.Size}
		if numbered {
			e.Name = strconv.Itoa(i)
		}
		all = append(all, e)
	}
	return all
}
