package main

import (
	"strconv"

	"github.com/weightmap/weightmap/internal/bench"
)

// columns are what the table calls the models that every library opens.
var columns = []string{"20 tensors, 2 MB", "300 tensors, 100 MB", "10,000 tensors of 256 bytes"}

// entry is what a library says of a tensor.
type entry struct {
	Name string
	Size int64
}

// described is what every library should say. MOBI has numbers for names.
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
