package main

import (
	"os"

	"github.com/nlpodyssey/safetensors"
	"github.com/weightmap/weightmap/internal/peers/peer"
)

func readSafetensors(path string) (all []peer.Tensor, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := safetensors.Deserialize(b)
	if err != nil {
		return nil, err
	}
	for _, t := range s.Tensors() {
		all = append(all, peer.Tensor{Name: t.Name, Data: t.TensorView.Data()})
	}
	return all, nil
}
