package shards

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
)

// TestIndexLimits checks the limit on shards (65,536) of an index.
func TestIndexLimits(t *testing.T) {
	for _, n := range []int{maxShards, maxShards + 1} {
		var b strings.Builder
		b.WriteString(`{"weight_map":{`)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"%d":"%d"`, i, i)
		}
		b.WriteString("}}")
		if _, err := Parse("safetensors", []byte(b.String()), nil); n > maxShards != errors.Is(err, tensor.ErrLimit) {
			t.Errorf("%d shards: %v", n, err)
		}
	}
}

// TestParse parses valid and invalid indexes.
func TestParse(t *testing.T) {
	w, err := Parse("torch", []byte(`{"metadata":{"a":1},"x":[],"weight_map":{"t":"b/1","u":"2","v":"b/1"}}`), nil)
	if err != nil || len(w.Shards) != 2 || w.Shards[0].Name != "b/1" || len(w.Metadata) != 1 {
		t.Errorf("%+v, %v", w, err)
	}
	for text, field := range map[string]string{
		`{}`: "weight_map", `{"weight_map":{},"weight_map":{}}`: "weight_map", `{"metadata":{},"metadata":null,"weight_map":{}}`: "weight_map",
		`{"weight_map":{"t":"../1"}}`: `weight_map "t"`, `{"weight_map":{"t":1}}`: "weight_map", `{"weight_map":{}} x`: "weight_map",
	} {
		var e *tensor.Error
		if _, err := Parse("torch", []byte(text), nil); !errors.Is(err, tensor.ErrCorrupt) || !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMerge checks that the first value of a key counts, and what counts as different.
func TestMerge(t *testing.T) {
	entry := func(v any) schema.Metadata { return schema.Metadata{{Key: "k", Value: v}} }
	all, differ := Merge(entry("a"), nil, entry("a"), entry("b"), entry(int64(1)))
	if len(all) != 1 || all[0].Value != any("a") || differ != 2 {
		t.Errorf("%v, %d", all, differ)
	}
}
