package main

import (
	"context"

	"github.com/weightmap/weightmap/examples/internal/digits"
	"github.com/weightmap/weightmap/examples/train/net"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/live"
)

// network is what is made of each generation of the model, once.
type network struct {
	*net.Network
	copied int64 // bytes of weights that had to be decoded
}

// prepare makes the network of a model, or says what is missing there.
func prepare(_ context.Context, m *format.Model) (any, error) {
	w, err := digits.Load(m)
	if err != nil {
		return nil, err
	}
	n, err := net.New(w)
	if err != nil {
		return nil, err
	}
	return &network{n, w.Copied}, nil
}

// answer is what the service says about a drawing.
type answer struct {
	Digit         int                  `json:"digit"`
	Probabilities digits.Probabilities `json:"probabilities"`
	Generation    uint64               `json:"generation"`
}

// predict computes with the model that is current, all of it with the same one.
func predict(h *live.Handle, m *digits.Image) (a answer, err error) {
	l, err := h.Acquire()
	if err != nil {
		return a, err
	}
	defer l.Release()
	a.Generation = l.Generation()
	// The engine computes in this goroutine, so that a file that is cut short is an error here.
	err = l.Model().Do(func() (err error) {
		a.Probabilities, err = l.Value().(*network).Predict(m)
		return err
	})
	a.Digit = a.Probabilities.Best()
	return a, err
}
