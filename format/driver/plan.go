package driver

import "github.com/weightmap/weightmap/tensor"

// Plan says what a writer will write. Names, dtypes and shapes come first, so
// that sizes and places are known and data streams through once. The caller may change it
// once there is a writer.
type Plan struct {
	Metadata Metadata
	// Tensors lists the tensors in file order. Name, DType and Shape count, and
	// Quant where the format stores it; a writer ignores the rest. Drivers find
	// Size filled in, and names, shapes and sizes checked.
	Tensors []tensor.Info
	Graph   *Graph
	// Native is what only one format can hold, nil for nothing; see PlanOf in package format.
	Native *Native
}
