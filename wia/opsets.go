package wia

import (
	"encoding/json"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

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
	raw, ok := value.(json.RawMessage)
	if !ok {
		return nil, false
	}
	sets, exact = []OperatorSet{}, true
	ok = jsonmeta.Elements(raw, func(elem []byte) bool {
		pairs, ok := object(json.RawMessage(elem))
		if !ok {
			return false
		}
		var set OperatorSet
		var domain, version bool
		set.Domain, domain = text(pairs, "domain")
		set.Version, version = integer(pairs, "version")
		sets = append(sets, set)
		exact = exact && domain && len(pairs) == 2
		return version
	})
	if !ok {
		return nil, false
	}
	return sets, exact
}

// text returns the string under a key.
func text(pairs format.Metadata, key string) (string, bool) {
	value, _ := pairs.Get(key)
	s, ok := value.(string)
	return s, ok
}

// integer returns the integer under a key.
func integer(pairs format.Metadata, key string) (int64, bool) {
	value, _ := pairs.Get(key)
	n, ok := value.(int64)
	return n, ok
}
