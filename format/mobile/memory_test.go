package mobile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestLock: what the option says is done.
func TestLock(t *testing.T) {
	testhost.NeedResident(t)
	file, want := sample(t)
	m, err := Open(save(t, "m.mag", file), &Options{Lock: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if s, size := m.m.Stats(), int64(len(file)); s.Mapped != size || s.Locked != size {
		t.Errorf("%+v of %d bytes", s, size)
	}
	if diff := cmp.Diff(want, describe(t, m)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
