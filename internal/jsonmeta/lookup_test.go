package jsonmeta

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func lookup(text []byte, key string) []byte {
	m, _ := Parse(text, Options{LoneSurrogates: true})
	v, _ := m.Get(key)
	raw, _ := v.(json.RawMessage)
	return raw
}

func TestLookup(t *testing.T) {
	text := []byte(` {"a": {"b": 1}, "tensor\u005fnames" : ["x", "\u0041\n", "\ud800", 3, []] , "b":"y"}`)
	for key, want := range map[string]string{"a": `{"b": 1}`, "c": ""} {
		if diff := cmp.Diff(want, string(lookup(text, key))); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	type element struct {
		Text      string
		Whole, OK bool
	}
	var got []element
	ok := Elements(lookup(text, "tensor_names"), func(raw []byte) bool {
		b, whole, ok := Text(raw)
		got = append(got, element{string(b), whole, ok})
		return true
	})
	want := []element{{"x", true, true}, {"A\n", true, true}, {"\ufffd", false, true}, {}, {}}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Error(ok, diff)
	}
	if Elements([]byte(`"x"`), func([]byte) bool { return true }) || Elements([]byte(`[1]`), func([]byte) bool { return false }) {
		t.Error("Elements of no array, or stopped, is true")
	}
	if !Elements([]byte(`[ ]`), func([]byte) bool { return false }) {
		t.Error("Elements of an empty array is false")
	}
}
