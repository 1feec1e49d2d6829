package hostile

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestOnDemand: a model whose files are not mapped, or only some of them, shows what a mapped one
// shows, verifies as it does, and says what it takes.
func TestOnDemand(t *testing.T) {
	testhost.NeedTimes(t)
	for _, s := range samples(t) {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store(t, dir, s.files[0])
			opened := func(change func(*format.Options)) *format.Model {
				o := s.options()
				o.Trusted = s.trust
				change(o)
				m, err := format.Open(filepath.Join(dir, s.open), o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { m.Close() })
				return m
			}
			var total int64
			for _, b := range s.files[0] {
				total += int64(len(b))
			}
			models := []*format.Model{
				opened(func(o *format.Options) {}),
				opened(func(o *format.Options) { o.OnDemand = true }),
				opened(func(o *format.Options) { o.OnDemand, o.CacheBytes = true, 1<<20 }),
				opened(func(o *format.Options) { o.OnDemand, o.Check = true, format.CheckAll }),
				opened(func(o *format.Options) { o.OnDemand, o.Check = true, format.CheckTouch }),
				opened(func(o *format.Options) { o.OnDemand, o.Private = true, true }),
				opened(func(o *format.Options) { o.MaxMapped = 1 }),
				opened(func(o *format.Options) { o.MaxMapped = total / 2 }),
				opened(func(o *format.Options) { o.MaxMapped = total }),
			}
			want, err := show(models[0])
			if err != nil {
				t.Fatal(err)
			}
			graph := shownGraph(t, models[0])
			for i, m := range models {
				if got, err := show(m); err != nil || !got.equal(&want) {
					t.Errorf("model %d shows something else: %v\n%s", i, err, got.structure)
				}
				if d := cmp.Diff(graph, shownGraph(t, m)); d != "" {
					t.Errorf("model %d has another graph (-mapped +this)\n%s", i, d)
				}
				parts(t, m, &want)
			}
			agree(t, models)
			for i, most := range map[int]int64{1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 1, 7: total / 2, 8: total} {
				st := models[i].Stats()
				if st.Mapped > most || st.Mapped+st.Heap+st.OnDemand != st.FileSize || most == 0 && i != 5 && testhost.Maps() && st.Heap > 0 {
					t.Errorf("model %d: %d bytes are mapped, of %d; %d in memory, %d on demand, of %d", i, st.Mapped, most, st.Heap, st.OnDemand, st.FileSize)
				}
			}
		})
	}
}

// shownGraph is a graph without its constants, which are views.
func shownGraph(t *testing.T, m *format.Model) []string {
	g, err := m.Graph()
	if err != nil {
		t.Fatal(err)
	}
	var ops []string
	if g != nil {
		for _, n := range g.Nodes {
			ops = append(ops, n.Op)
		}
	}
	return ops
}

// parts reads pieces of all tensors.
func parts(t *testing.T, m *format.Model, want *content) {
	t.Helper()
	for name, v := range m.Tensors() {
		all := want.data[name]
		half := len(all) / 2
		b := make([]byte, half)
		if _, err := v.ReadAt(b, int64(len(all)-half)); err != nil || !bytes.Equal(b, all[len(all)-half:]) {
			t.Errorf("the second half of %q: %v, or other bytes", name, err)
		}
	}
}
