// Package opsets knows ONNX's operator sets: the metadata entry in which formats keep them, and
// what is in ONNX's own.
package opsets

import (
	"encoding/json"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
)

// Set is a version of a set of operators, as in ONNX's opset_import.
type Set struct {
	Domain  string `json:"domain"`
	Version int64  `json:"version"`
}

// Parse reads the value of "opsets", nil for one of another form. exact
// says that nothing else is in it.
func Parse(value any) (sets []Set, exact bool) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		return nil, false
	}
	sets, exact = []Set{}, true
	ok = jsonmeta.Elements(raw, func(elem []byte) bool {
		pairs, ok := object(elem)
		if !ok {
			return false
		}
		var set Set
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
func text(pairs driver.Metadata, key string) (string, bool) {
	value, _ := pairs.Get(key)
	s, ok := value.(string)
	return s, ok
}

// integer returns the integer under a key.
func integer(pairs driver.Metadata, key string) (int64, bool) {
	value, _ := pairs.Get(key)
	n, ok := value.(int64)
	return n, ok
}

// object returns the pairs of a JSON object.
func object(raw []byte) (driver.Metadata, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	pairs, err := jsonmeta.Metadata(raw)
	return pairs, err == nil
}
