package opsets

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value any
		want  []schema.OperatorSet // nil if the value has another form
		exact bool
	}{
		{"two sets", raw(`[{"domain":"","version":17},{"domain":"ai.onnx.ml","version":3}]`),
			[]schema.OperatorSet{{Version: 17}, {Domain: "ai.onnx.ml", Version: 3}}, true},
		{"none", raw(`[]`), []schema.OperatorSet{}, true},
		{"more in a set", raw(`[{"domain":"","version":17,"doc":"x"}]`),
			[]schema.OperatorSet{{Version: 17}}, false},
		{"no domain", raw(`[{"version":17}]`), []schema.OperatorSet{{Version: 17}}, false},
		{"domain of another type", raw(`[{"domain":1,"version":17}]`),
			[]schema.OperatorSet{{Version: 17}}, false},
		{"no version", raw(`[{"domain":"a"}]`), nil, false},
		{"version is a text", raw(`[{"domain":"a","version":"17"}]`), nil, false},
		{"version is a fraction", raw(`[{"domain":"a","version":1.5}]`), nil, false},
		{"an element is a number", raw(`[17]`), nil, false},
		{"an element is a list", raw(`[["domain","version"]]`), nil, false},
		{"an object", raw(`{"domain":"","version":17}`), nil, false},
		{"a text", "17", nil, false},
		{"nothing", nil, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, exact := Parse(tt.value)
			if diff := cmp.Diff(tt.want, got); diff != "" || exact != tt.exact {
				t.Errorf("exact is %v (-want +got)\n%s", exact, diff)
			}
		})
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func TestIn(t *testing.T) {
	m := schema.Metadata{{Key: Key, Value: raw(`[{"domain":"","version":9}]`)}}
	expect.Equal(t, []schema.OperatorSet{{Version: 9}}, In(m))
	expect.Equal(t, 0, len(In(nil)))
}

func TestIsOwn(t *testing.T) {
	for _, tt := range []struct {
		name           string
		entry          schema.Entry
		own, isDefault bool
	}{
		{"default version of the representation", entry(KeyIRVersion, int64(8)), true, true},
		{"another version", entry(KeyIRVersion, int64(9)), true, false},
		{"a version that is a text", entry(KeyIRVersion, "8"), false, false},
		{"default set", entry(Key, raw(`[{"domain":"","version":17}]`)), true, true},
		{"another set", entry(Key, raw(`[{"domain":"","version":16}]`)), true, false},
		{"another domain", entry(Key, raw(`[{"domain":"a","version":17}]`)), true, false},
		{"two sets", entry(Key, raw(`[{"domain":"","version":17},{"domain":"a","version":1}]`)), true, false},
		{"more than sets", entry(Key, raw(`[{"domain":"","version":17,"x":1}]`)), false, true},
		{"not sets", entry(Key, "17"), false, false},
		{"another key", entry("name", int64(8)), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			own, isDefault := IsOwn(tt.entry)
			if own != tt.own || own && isDefault != tt.isDefault {
				t.Errorf("own %v, default %v, want %v, %v", own, isDefault, tt.own, tt.isDefault)
			}
		})
	}
}

func entry(key string, value any) schema.Entry { return schema.Entry{Key: key, Value: value} }

// TestKnown: the table has single names, without those of other domains.
func TestKnown(t *testing.T) {
	for _, name := range []string{"Conv", "Gemm", "Relu", "Xor", "LSTM"} {
		if !Known(name) {
			t.Errorf("%s is not known", name)
		}
	}
	for _, name := range []string{"", "conv", "Conv2D", "Gem", "FusedConv"} {
		if Known(name) {
			t.Errorf("%s is known", name)
		}
	}
	expect.Equal(t, len(strings.Fields(operatorNames)), len(operators))
}
