package safetensors

import (
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// TestMetadataLimit checks that metadata counts against Options.MaxMemory.
func TestMetadataLimit(t *testing.T) {
	b := fileOf(`{"__metadata__":{"k":"` + strings.Repeat("x", 1<<16) + `"}}`)
	for most, want := range map[int64]error{1 << 20: nil, 100 << 10: format.ErrLimit} {
		if m, err := OpenBytes(b, &format.Options{MaxMemory: most}); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", most, err, want)
		} else if err == nil {
			m.Close()
		}
	}
}
