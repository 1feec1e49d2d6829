package textmeta

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format/schema"
)

// TestTypes: each value comes back as it was, and its text is what another program reads.
func TestTypes(t *testing.T) {
	for _, test := range []struct {
		value      any
		text, name string
		back       any
	}{
		{"7", "7", "", "7"},
		{"null", "null", "", "null"},
		{nil, "null", "null", nil},
		{true, "true", "bool", true},
		{int64(-7), "-7", "int64", int64(-7)},
		{uint8(7), "7", "int64", int64(7)},
		{uint64(math.MaxUint64), "18446744073709551615", "number", json.Number("18446744073709551615")},
		{0.5, "0.5", "float64", 0.5},
		{5.0, "5.0", "float64", 5.0},
		{1e21, "1e+21", "float64", 1e21},
		{math.Copysign(0, -1), "-0.0", "float64", math.Copysign(0, -1)},
		{math.NaN(), "NaN", "float64", math.NaN()},
		{math.Inf(1), "+Inf", "float64", math.Inf(1)},
		{json.Number("0.5"), "0.5", "float64", 0.5},
		{json.Number("0.10"), "0.10", "number", json.Number("0.10")},
		{json.RawMessage(`[1, "a"]`), `[1, "a"]`, "json", json.RawMessage(`[1, "a"]`)},
		{json.RawMessage(`{"a":{}}`), `{"a":{}}`, "json", json.RawMessage(`{"a":{}}`)},
	} {
		m := schema.Metadata{{Key: "k", Value: test.value}, {Key: "other", Value: "text"}}
		for _, e := range m {
			if err := Check(m, e); err != nil {
				t.Fatal(err)
			}
		}
		want := schema.Metadata{{Key: "k", Value: test.text}, {Key: "other", Value: "text"}}
		if test.name != "" {
			want = append(want, schema.Entry{Key: Key, Value: `{"k":"` + test.name + `"}`})
		}
		stored := Encode(m)
		if d := cmp.Diff(want, stored); d != "" {
			t.Errorf("%v: (-want +got)\n%s", test.value, d)
		}
		back := schema.Metadata{{Key: "k", Value: test.back}, {Key: "other", Value: "text"}}
		if d := cmp.Diff(back, Decode(stored), cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%v came back: (-want +got)\n%s", test.value, d)
		}
	}
}

// TestOtherTypes: what others wrote under the key changes no value that is not of the type.
func TestOtherTypes(t *testing.T) {
	for name, test := range map[string]struct{ value, types string }{
		"not JSON":           {"7", "{"},
		"not an object":      {"7", "[]"},
		"not names":          {"7", `{"k":1}`},
		"another name":       {"7", `{"k":"uint4"}`},
		"edited":             {"seven", `{"k":"int64"}`},
		"not as Go writes":   {"007", `{"k":"int64"}`},
		"too large":          {"9223372036854775808", `{"k":"int64"}`},
		"another float":      {"0.50", `{"k":"float64"}`},
		"no float":           {"1_0", `{"k":"float64"}`},
		"another bool":       {"T", `{"k":"bool"}`},
		"not null":           {"", `{"k":"null"}`},
		"no number":          {"[1]", `{"k":"number"}`},
		"an empty number":    {"", `{"k":"number"}`},
		"no JSON":            {"[1", `{"k":"json"}`},
		"a number as json":   {"1", `{"k":"json"}`},
		"an empty text":      {"", `{"k":"json"}`},
		"two values of JSON": {"[][]", `{"k":"json"}`},
	} {
		m := Decode(schema.Metadata{{Key: Key, Value: test.types}, {Key: "k", Value: test.value}})
		if got, _ := m.Get("k"); got != test.value {
			t.Errorf("%s: %q became %#v", name, test.value, got)
		}
	}
	m := schema.Metadata{{Key: Key, Value: int64(1)}, {Key: "k", Value: "7"}}
	if d := cmp.Diff(m, Decode(m)); d != "" {
		t.Errorf("a number under the key: %s", d)
	}
}

// TestCheck: an entry cannot have the key of the types of others, and values without a text are refused.
func TestCheck(t *testing.T) {
	own := schema.Entry{Key: Key, Value: "mine"}
	for name, test := range map[string]struct {
		m    schema.Metadata
		e    schema.Entry
		want bool
	}{
		"own key, only strings":  {schema.Metadata{own, {Key: "k", Value: "7"}}, own, true},
		"own key, and a number":  {schema.Metadata{own, {Key: "k", Value: int64(7)}}, own, false},
		"a value without a text": {nil, schema.Entry{Key: "k", Value: 1i}, false},
	} {
		if err := Check(test.m, test.e); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
