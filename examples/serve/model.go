package main

import (
	"context"

	"github.com/weightmap/weightmap/examples/digits"
	"github.com/weightmap/weightmap/examples/train/net"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/live"
)

// network is made once for each generation of the model.
type network struct {
	*net.Network
	copied int64 // bytes of weights that were decoded
}

// prepare makes the network for a model, or fails if the model is unsuitable.
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

// answer is the response to a prediction.
type answer struct {
	Digit         int                  `json:"digit"`
	Probabilities digits.Probabilities `json:"probabilities"`
	Generation    uint64               `json:"generation"`
}

// predict predicts a digit with the current model. The model does not change during the prediction.
func predict(h *live.Handle, m *digits.Image) (a answer, err error) {
	l, err := h.Acquire()
	if err != nil {
		return a, err
	}
	defer l.Release()
	a.Generation = l.Generation()
	// The engine runs in this goroutine, so Do can turn a page fault of a truncated file into an
	// error.
	err = l.Model().Guard(func() (err error) {
		a.Probabilities, err = l.Value().(*network).Predict(m)
		return err
	})
	a.Digit = a.Probabilities.Best()
	return a, err
}
