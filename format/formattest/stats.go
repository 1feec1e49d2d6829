package formattest

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
)

// stats: the report on a model fits what is known of it.
func (x *subject) stats(t *testing.T) {
	for _, way := range append(x.ways(x.file, x.s.Options), x.copies()...) {
		m, err := way.open(t)
		if err != nil {
			t.Fatal(err)
		}
		s := m.Stats()
		x.checkSizes(t, way, s)
		checkCopies(t, way.name, m, s)
		if s.Lent || s.Kept < 0 || s.Verified < 0 {
			t.Errorf("%s: before any use: %+v", way.name, s)
		}
		x.checkUse(t, way, m)
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		closed := m.Stats()
		closed.Path, closed.Verified = "", 0
		if d := cmp.Diff(format.Stats{Resident: -1}, closed, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: after Close (-want +got)\n%s", way.name, d)
		}
	}
}

// checkSizes looks at the sizes of an open model.
func (x *subject) checkSizes(t *testing.T, way opened, s format.Stats) {
	t.Helper()
	size := int64(len(x.file))
	held, fetched := size, int64(0)
	if way.fetch {
		held, fetched = 0, size
	}
	// Resident pages are whole ones at both ends.
	if s.FileSize != size || s.Mapped+s.Heap != held || s.OnDemand != fetched || s.Mapped < 0 || s.Heap < 0 || s.Resident < -1 || s.Resident > held+2<<16 {
		t.Errorf("%s: %d of %d bytes are mapped, %d on the heap, %d on demand, %d resident; the file has %d", way.name, s.Mapped, s.FileSize, s.Heap, s.OnDemand, s.Resident, size)
	}
	if (s.Path != "") != (way.byPath || way.name == "file" || strings.Contains(way.name, "window")) {
		t.Errorf("%s: the path is %q", way.name, s.Path)
	}
}

// checkCopies compares what is said of zero-copy tensors with the views.
func checkCopies(t *testing.T, what string, m model, s format.Stats) {
	t.Helper()
	views, copies := 0, 0
	for _, v := range m.Tensors() {
		if v.ZeroCopy() {
			views++
		}
	}
	for why, n := range s.Copies {
		copies += n
		if why == "" || n <= 0 {
			t.Errorf("%s: %d copies because of %q", what, n, why)
		}
	}
	if s.ZeroCopy != views || views+copies != m.Len() {
		t.Errorf("%s: %d tensors without a copy and %d with one; %d of %d views are zero-copy", what, s.ZeroCopy, copies, views, m.Len())
	}
}

// checkUse hands out everything, verifies, and looks for the traces.
func (x *subject) checkUse(t *testing.T, way opened, m model) {
	t.Helper()
	lent, unknown, what := false, false, way.name
	kept := int64(0)
	for _, v := range m.Tensors() {
		b, err := v.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if swapped(v.DType()) {
			unknown = true // its bytes may be the file's, but As cannot show them
			continue
		}
		lent = lent || v.ZeroCopy()
		if !v.ZeroCopy() && !way.fetch {
			kept += int64(len(b))
		}
	}
	s := m.Stats()
	if s.Lent != lent && !unknown || s.Kept < kept {
		t.Errorf("%s: after %d bytes were handed out by copy, others %v: %+v", what, kept, lent, s)
	}
	if _, err := m.Verify(context.Background()); err == nil && m.Stats().Verified < s.Verified {
		t.Errorf("%s: verifying took verified sums away", what)
	}
}

// ownMemory: what a model hands out, but for the bytes of tensors, does not change
// when the file does.
func (x *subject) ownMemory(t *testing.T) {
	b := slices.Clone(x.file)
	m := x.openBytes(t, b)
	x.overwritten(t, "bytes", m, func() {
		for i := range b {
			b[i] = 0xaa
		}
	})
	m.Close()
	path := x.stored(t, x.file)
	m, err := x.codec.Open(path, x.s.Options)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	x.overwritten(t, "path", m, func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt(bytes.Repeat([]byte{0xaa}, len(x.file)), 0)
			f.Close()
		}
		if err != nil {
			t.Logf("a mapped file cannot be overwritten here: %v", err)
		}
	})
}

// overwritten holds on to what m shows while the file changes.
func (x *subject) overwritten(t *testing.T, what string, m model, overwrite func()) {
	t.Helper()
	held, err := planOf(m)
	if err != nil {
		t.Fatal(err)
	}
	if held.Graph, err = frozen(held.Graph); err != nil {
		t.Fatal(err)
	}
	notes, version, names := m.Notes(), m.Version(), tensorNames(m)
	want := snapshot{Version: string([]byte(version)), Plan: clonePlan(held)}
	wantNotes, wantNames := cloneStrings(notes), cloneStrings(names)
	overwrite()
	if d := cmp.Diff(want, snapshot{Version: version, Plan: held}, compared); d != "" {
		t.Errorf("%s: what was read of the model changes with the file (-before +after)\n%s", what, d)
	}
	if d := cmp.Diff([][]string{wantNotes, wantNames}, [][]string{notes, names}, compared); d != "" {
		t.Errorf("%s: notes or names change with the file (-before +after)\n%s", what, d)
	}
}
