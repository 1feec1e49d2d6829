package jsonmeta

import "testing"

// TestRefused has texts that exactly one check refuses, and the offsets of the errors.
func TestRefused(t *testing.T) {
	for text, at := range map[string]int64{
		"\ufeff{}":                   0,
		`{"a":"\udc00\udc00"}`:       6,
		`{"a":"\ud800"}`:             6,
		`{"a":"\ud800\n"}`:           6,
		`{"a":"\ud800\u0041"}`:       6,
		`{"a":"\ud800\ud800\udc00"}`: 6,
		"[]":                         0,
		"":                           0,
	} {
		_, err := Parse([]byte(text), Options{})
		e, ok := err.(*Error)
		if !ok || e.Offset != at {
			t.Errorf("%q: %v, want an error at %d", text, err, at)
		}
	}
	if _, _, ok := Text([]byte(`"`)); ok {
		t.Error("a quotation mark alone is a string")
	}
	if _, _, ok := Text(nil); ok {
		t.Error("nothing is a string")
	}
}
