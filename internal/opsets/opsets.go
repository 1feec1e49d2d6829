// Package opsets handles ONNX operator sets: the metadata entry in which formats store them, and
// the operators of ONNX's default set.
package opsets

import (
	"encoding/json"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// The keys of the metadata entries of ONNX that say how its graph is to be read.
const (
	Key          = "opsets"
	KeyIRVersion = "ir_version" // of the representation, an int64
)

// What is written to a file of ONNX where a schema has nothing.
const (
	DefaultIRVersion = 8
	DefaultVersion   = 17 // of ONNX's operators
	DefaultGraphName = "graph"
)

// Parse parses the value of the entry, or returns nil if it has another form. exact reports whether
// there is nothing else in it.
func Parse(value any) (sets []schema.OperatorSet, exact bool) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		return nil, false
	}
	sets = []schema.OperatorSet{}
	exact = true
	ok = jsonmeta.Elements(raw, func(elem []byte) bool {
		pairs, err := jsonmeta.Parse(elem, jsonmeta.Options{LoneSurrogates: true})
		if err != nil || elem[0] != '{' {
			return false
		}
		domain, named := get[string](pairs, "domain")
		version, ok := get[int64](pairs, "version")
		sets = append(sets, schema.OperatorSet{Domain: domain, Version: version})
		exact = exact && named && len(pairs) == 2
		return ok
	})
	if !ok {
		return nil, false
	}
	return sets, exact
}

// get returns the value of a key if it is a T.
func get[T any](pairs schema.Metadata, key string) (T, bool) {
	value, _ := pairs.Get(key)
	v, ok := value.(T)
	return v, ok
}

// In returns the operator sets in a model's metadata, or nil.
func In(m schema.Metadata) []schema.OperatorSet {
	value, _ := m.Get(Key)
	sets, _ := Parse(value)
	return sets
}

// IsOwn reports whether an entry is one of these, and not an entry of the user's. isDefault reports
// whether a file without it means the same.
func IsOwn(e schema.Entry) (own, isDefault bool) {
	switch e.Key {
	case KeyIRVersion:
		version, ok := e.Value.(int64)
		return ok, version == DefaultIRVersion
	case Key:
		sets, exact := Parse(e.Value)
		return exact, len(sets) == 1 && sets[0] == schema.OperatorSet{Version: DefaultVersion}
	}
	return false, false
}
