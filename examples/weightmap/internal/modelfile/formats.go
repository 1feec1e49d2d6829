package modelfile

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/wia"
)

// Encrypted reports whether a model's file is encrypted.
func Encrypted(m *format.Model) bool {
	if f, ok := mle.From(m); ok {
		return f.Header().Features.Has(mle.Encryption)
	}
	f, ok := wia.From(m)
	return ok && f.Encrypted()
}

// FormatOf returns the name of the format with the ending of a path, "" for none.
func FormatOf(path string) string {
	f, err := format.ByExtension(path)
	if err != nil {
		return ""
	}
	return f.Driver().Describe().Name
}
