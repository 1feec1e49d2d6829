package safetensors

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
)

func TestOpenFile(t *testing.T) {
	f, err := os.Open(save(t, t.TempDir(), "m.safetensors", fileOf(base, count(6)...)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := OpenFile(f, 0, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Len() != 2 {
		t.Error(m.Len())
	}
}

// TestMetadataLimit: metadata are decoded within Options.MaxMemory.
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
