package safetensors

import (
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestLargeIndex: an index over the limit is refused before it is read.
func TestLargeIndex(t *testing.T) {
	index := []byte(`{"weight_map":{}}` + strings.Repeat(" ", 48))
	for most, want := range map[int64]string{int64(len(index)): "", int64(len(index)) - 1: "index"} {
		_, err := codec.OpenBytes(index, &format.Options{MaxHeaderBytes: most})
		var e *format.Error
		if errors.Is(err, format.ErrLimit) != (want != "") || want != "" && (!errors.As(err, &e) || e.Field != want) {
			t.Errorf("at most %d bytes: %v", most, err)
		}
	}
}
