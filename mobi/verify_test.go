package mobi

import (
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestLoadChecksFooter: Load compares the footer before the first use of a constant.
func TestLoadChecksFooter(t *testing.T) {
	for _, damage := range []byte{0, 1} {
		b := with(func(*image) {})
		b[len(b)-1] ^= damage
		m, err := openBytes(b, nil)
		expect.OK(t, err)
		defer m.Close()
		v := m.At(0)
		err = m.Load(t.Context(), []format.Request{{Tensor: v.Name(), Bytes: make([]byte, v.Size())}}, nil)
		if damage == 0 && err != nil || damage != 0 && !errors.Is(err, format.ErrChecksum) {
			t.Errorf("damage %d: %v", damage, err)
		}
	}
}
