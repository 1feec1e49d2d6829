package hostile

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestPrivate: nothing that is done to the files of a model in place changes what a private
// one says, also of tensors, graphs and sums that nobody asked for before, and of all
// its files.
func TestPrivate(t *testing.T) {
	for _, s := range samples(t) {
		for _, to := range []string{"overwritten", "emptied", "removed"} {
			t.Run(s.String()+" "+to, func(t *testing.T) {
				t.Parallel()
				want := contentOf(t, s, 0)
				dir := t.TempDir()
				store(t, dir, s.files[0])
				o := s.options()
				o.Private, o.Trusted = true, s.trust
				m, err := format.Open(filepath.Join(dir, s.open), o)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				for name, b := range s.files[1] {
					path := filepath.Join(dir, filepath.FromSlash(name))
					switch to {
					case "overwritten":
						err = os.WriteFile(path, b, 0o666)
					case "emptied":
						err = os.Truncate(path, 0)
					case "removed":
						err = os.Remove(path)
					}
					if err != nil && !errors.Is(err, os.ErrNotExist) {
						t.Fatal(err)
					}
				}
				if _, err := m.Graph(); err != nil && s.open != "" {
					t.Error(err)
				}
				got, err := show(m)
				if err != nil || !got.equal(&want) {
					t.Errorf("it changed: %v\n%s", err, got.structure)
				}
				if _, err := m.Verify(t.Context()); err != nil {
					t.Error(err)
				}
				if st := m.Stats(); st.Mapped+st.Heap != st.FileSize {
					t.Errorf("%d bytes are mapped, %d in memory, of %d", st.Mapped, st.Heap, st.FileSize)
				}
			})
		}
	}
}

// TestPrivateWhileChanging: what a private model says once, it says again, whatever goes on
// meanwhile. Most files are refused here: nothing of the kind of an adversary ever
// leaves a file alone for long.
func TestPrivateWhileChanging(t *testing.T) {
	testhost.NeedTimes(t)
	for _, s := range samples(t) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			a := &arena{s: s, dir: t.TempDir()}
			names := slices.Sorted(maps.Keys(s.files[0]))
			store(t, a.dir, s.files[0])
			for seed := range uint64(4) {
				x := &adversary{a: a, r: rand.New(rand.NewPCG(seed, 0x9e))}
				var at sync.WaitGroup
				at.Go(func() {
					for range 50 * seed { // for none, it is opened in peace
						_ = x.step(names[x.r.IntN(len(names))])
					}
				})
				o := s.options()
				o.Private, o.Check = true, format.CheckStructure
				m, err := format.Open(filepath.Join(a.dir, s.open), o)
				if err != nil {
					at.Wait()
					restore(t, a.dir, s.files[0])
					continue
				}
				first, firstErr := show(m)
				_, verified := m.Verify(t.Context())
				at.Wait()
				restore(t, a.dir, s.files[1])
				again, err := show(m)
				_, verify := m.Verify(t.Context())
				if !again.equal(&first) || (err == nil) != (firstErr == nil) || (verify == nil) != (verified == nil) {
					t.Errorf("round %d: it changed: %v, %v; verified %v, %v", seed, firstErr, err, verified, verify)
				}
				m.Close()
			}
		})
	}
}
