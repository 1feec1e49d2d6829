package wia

import "github.com/weightmap/weightmap/internal/opsets"

// OperatorSet is a version of an operator set that a graph uses, as in ONNX's
// opset_import.
type OperatorSet struct {
	Domain  string // "ai.onnx" or "" for the operators of ONNX
	Version int64
}

// OperatorSets returns the operator sets in the metadata under "opsets". It
// returns nil if there are none or the value has another form, and after Close.
func (f *File) OperatorSets() []OperatorSet { return opsets.In[OperatorSet](f.Metadata()) }

// IRVersion returns the version of ONNX's intermediate representation in the
// metadata under "ir_version". It returns 0 if there is none, and after Close.
func (f *File) IRVersion() int64 { return opsets.IRVersion(f.Metadata()) }
