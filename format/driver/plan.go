package driver

import "github.com/weightmap/weightmap/tensor"

// Plan describes a file before its data is written, so that a writer knows every size and offset and
// streams the data once. A writer copies the plan: the caller may change it afterwards.
type Plan struct {
	Metadata Metadata
	// Tensors lists the tensors in file order. A writer uses Name, DType and Shape, Encoding where
	// DType is Invalid, and Quant where the format stores it. It ignores the other fields.
	// Drivers find names, shapes and sizes checked, and Size set.
	Tensors []tensor.Info
	Graph   *Graph // nil for none
	// Native holds what only one format can store, nil for nothing. format.PlanOf sets it.
	Native *Native
}
