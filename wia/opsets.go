package wia

import "github.com/weightmap/weightmap/internal/opsets"

// The metadata keys of what ONNX models say of themselves and the format does not
// record elsewhere.
const (
	keyOperatorSets = "opsets"
	keyIRVersion    = "ir_version"
)

// OperatorSet is a version of a set of operators that a graph is made for, as in
// ONNX's opset_import.
type OperatorSet struct {
	Domain  string `json:"domain"` // "ai.onnx" or "" for ONNX's own
	Version int64  `json:"version"`
}

// OperatorSets returns the operator sets that the metadata record under "opsets".
// It is nil when there are none, when the value has another form, and after
// Close.
func (f *File) OperatorSets() []OperatorSet {
	value, _ := f.Metadata().Get(keyOperatorSets)
	sets, _ := operatorSets(value)
	return sets
}

// IRVersion returns the version of ONNX's representation that the metadata
// record under "ir_version", 0 when they record none, and after Close.
func (f *File) IRVersion() int64 {
	value, _ := f.Metadata().Get(keyIRVersion)
	n, _ := value.(int64)
	return n
}

// operatorSets reads the value of "opsets", nil for one of another form. exact
// says that nothing else is in it.
func operatorSets(value any) (sets []OperatorSet, exact bool) {
	list, exact := opsets.Parse(value)
	if list == nil {
		return nil, false
	}
	sets = make([]OperatorSet, len(list))
	for i, s := range list {
		sets[i] = OperatorSet(s)
	}
	return sets, exact
}
