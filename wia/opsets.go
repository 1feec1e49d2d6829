package wia

import "github.com/weightmap/weightmap/internal/opsets"

// OperatorSet is a version of a set of operators that a graph is made for, as in
// ONNX's opset_import.
type OperatorSet struct {
	Domain  string // "ai.onnx" or "" for ONNX's own
	Version int64
}

// OperatorSets returns the operator sets that the metadata record under "opsets".
// It is nil when there are none, when the value has another form, and after
// Close.
func (f *File) OperatorSets() []OperatorSet { return opsets.In[OperatorSet](f.Metadata()) }

// IRVersion returns the version of ONNX's representation that the metadata
// record under "ir_version", 0 when they record none, and after Close.
func (f *File) IRVersion() int64 { return opsets.IRVersion(f.Metadata()) }
