package live

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/internal/testhost"
)

// packed writes a model whose tensors are compressed, and encrypted with a key if there is one.
func packed(t *testing.T, key []byte) string {
	t.Helper()
	dir := t.TempDir()
	plain, path := filepath.Join(dir, "plain"), filepath.Join(dir, "model.wia")
	replace(t, plain, bytesOf(t, model{value: 1}))
	storage := format.Storage{Compression: "zstd"}
	if key != nil {
		storage = format.Storage{Key: key}
	}
	if _, err := convert.File(plain, path, &convert.Options{Lossy: true, WriteOptions: format.WriteOptions{NoSync: true, Storage: storage}}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWarm: what is compressed is decoded before a generation becomes current, and only if that is asked for.
func TestWarm(t *testing.T) {
	path := packed(t, nil)
	for _, warm := range []bool{false, true} {
		h, err := Open(path, &Options{Warm: warm})
		must(t, err)
		defer h.Close()
		kept := int64(0)
		if warm {
			kept = 2 * elements * 4
		}
		err = h.Do(func(m *format.Model) error {
			if s := m.Stats(); s.Kept != kept {
				t.Errorf("warm %v: %d bytes are kept, want %d", warm, s.Kept, kept)
			}
			return nil
		})
		if err != nil || current(t, h) != 1 {
			t.Error(err)
		}
	}
}

// TestWarmRefuses: what could not be used is not made current.
func TestWarmRefuses(t *testing.T) {
	path := packed(t, make([]byte, 32))
	if _, err := Open(path, &Options{Warm: true}); !errors.Is(err, format.ErrKey) {
		t.Errorf("without the key: %v", err)
	}
}

// TestHot: hot tensors are locked in memory, and a model without them is refused.
func TestHot(t *testing.T) {
	testhost.NeedMaps(t)
	h, path := start(t, nil)
	h.Close()
	h, err := Open(path, &Options{Hot: []string{"1"}})
	if errors.Is(err, format.ErrLimit) || errors.Is(err, format.ErrUnsupported) {
		t.Skip("this process may not lock memory: ", err)
	}
	must(t, err)
	defer h.Close()
	if err := h.Do(func(m *format.Model) error {
		if n := m.Stats().Locked; n < 4*elements {
			t.Errorf("%d bytes are locked", n)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if _, err := Open(path, &Options{Hot: []string{"none"}}); !errors.Is(err, format.ErrNotFound) {
		t.Errorf("a hot tensor that the model lacks: %v", err)
	}
}
