package format

import (
	"context"
	"reflect"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
)

// TestCheckOptions: what is not set gets its default, and nothing else changes.
func TestCheckOptions(t *testing.T) {
	var m driver.Memory
	want := Options{Context: context.Background(), Memory: &m}
	got, err := checkOptions(nil, &m)
	if !reflect.DeepEqual(want, got) || err != nil {
		t.Errorf("nil: %+v, %v", got, err)
	}
	mine := Options{Context: t.Context(), Format: "mag", Check: CheckAll, MaxMemory: 7, CacheBytes: 6, Workers: 2, Key: []byte{5}, Dir: "d", Debug: true}
	got, err = checkOptions(&mine, &m)
	if mine.Memory = &m; !reflect.DeepEqual(mine, got) || err != nil || m.Left() != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Key[0]++; mine.Key[0] != 5 {
		t.Error("the key is the caller's")
	}
}
