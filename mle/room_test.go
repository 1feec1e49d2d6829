package mle

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// handedOut is all that a program can get of the structure of a file.
func handedOut(f *File) (all []any, err error) {
	raw, err := f.MetadataJSON()
	ir, irErr := f.IR()
	g, graphErr := f.Graph()
	descriptors, descErr := f.Descriptors()
	all = append(all, string(raw), ir, g, descriptors, f.Metadata(), f.Notes(), f.Signature(), f.Header())
	for name, v := range f.Tensors() {
		all = append(all, name, v.Info())
	}
	return all, errors.Join(err, irErr, graphErr, descErr)
}

// shown is handedOut as text.
func shown(all []any) string {
	var b bytes.Buffer
	for _, v := range all {
		if ir, ok := v.(*IR); ok {
			v = *ir
		}
		if g, ok := v.(*format.Graph); ok {
			v = *g
		}
		fmt.Fprintf(&b, "%v\n", v)
	}
	return b.String()
}

// TestRoomIsGivenOn: a model works in memory of one that was closed, and what that handed
// out does not change.
func TestRoomIsGivenOn(t *testing.T) {
	const n = 1000
	one, two := manyTensors(n, "value"), saved(t, manyTensors(n, "other"))
	g, err := Open(two, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := handedOut(g)
	if err != nil {
		t.Fatal(err)
	}
	want := shown(other)
	g.Close()
	reused := false
	for round := 0; round < 20 && !reused; round++ { // a pool may forget
		f := mustOpen(t, one, nil)
		held := &f.f.held[0]
		got, err := handedOut(f)
		if err != nil {
			t.Fatal(err)
		}
		before := shown(got)
		f.Close()
		if g, err = Open(two, nil); err != nil {
			t.Fatal(err)
		}
		reused = held == &g.f.held[0]
		if shown(got) != before {
			t.Fatal("what a closed model handed out has changed")
		}
		if other, err = handedOut(g); err != nil || shown(other) != want {
			t.Fatalf("the second model is not what it is alone: %v", err)
		}
		g.Close()
		if _, err := f.MetadataJSON(); !errors.Is(err, format.ErrClosed) {
			t.Fatalf("MetadataJSON of a closed model: %v", err)
		}
		if err := errors.Join(f.Close(), g.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if !reused {
		t.Error("no model got the memory of the one before it")
	}
}

// TestRoomsApart: models that are open at a time do not share memory, whoever closes
// them, and how often.
func TestRoomsApart(t *testing.T) {
	var files [3][]byte
	var want [3]string
	for i := range files {
		files[i] = manyTensors(700+40*i, fmt.Sprintf("file%d-", i))
		f := mustOpen(t, files[i], nil)
		all, err := handedOut(f)
		if err != nil {
			t.Fatal(err)
		}
		want[i] = shown(all)
	}
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for round := range 6 {
				i := (k + round) % len(files)
				f, err := OpenBytes(files[i], nil)
				if err != nil {
					t.Error(err)
					return
				}
				all, err := handedOut(f)
				if err != nil || shown(all) != want[i] {
					t.Errorf("file %d is not what it was: %v", i, err)
				}
				var closers sync.WaitGroup
				for range 2 {
					closers.Add(1)
					go func() { defer closers.Done(); f.Close() }()
				}
				_, _ = f.MetadataJSON()
				closers.Wait()
			}
		}()
	}
	wg.Wait()
}

// TestFitting: memory is used for what is as large, or a little smaller.
func TestFitting(t *testing.T) {
	for _, tt := range []struct{ have, n, want int }{{0, 1, 0}, {99, 100, 0}, {100, 100, 100}, {125, 100, 100}, {126, 100, 0}, {100, 1, 0}} {
		got := fitting(make([]byte, 0, tt.have), tt.n)
		if len(got) != tt.want || cap(got) != tt.want {
			t.Errorf("%d of %d: length %d, capacity %d, want %d", tt.n, tt.have, len(got), cap(got), tt.want)
		}
	}
}
