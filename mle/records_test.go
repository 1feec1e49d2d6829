package mle

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEscapedNames: names mean the same whether they have escapes or not.
func TestEscapedNames(t *testing.T) {
	plain := plainGolden()
	plain.metadata = `{"tensor_names":["w","模型","b","y"]}`
	escaped := plainGolden()
	escaped.metadata = `{"tensor\u005fnames" : [ "\u0077", "\u6a21型" ,"b","\u0079"]}`
	want := mustOpen(t, plain.build(), nil)
	got := mustOpen(t, escaped.build(), nil)
	if d := cmp.Diff(contents(t, want), contents(t, got)); d != "" {
		t.Errorf("tensors (-plain +escaped)\n%s", d)
	}
	if d := cmp.Diff(want.IR().Tensors, got.IR().Tensors); d != "" {
		t.Errorf("descriptors (-plain +escaped)\n%s", d)
	}
}

// TestAllocations: opening allocates a handful of times, whatever the number of tensors.
func TestAllocations(t *testing.T) {
	for _, n := range []int{20, 3000} {
		g := &gFile{version: 2, headerSize: headerText, weights: bytes.Repeat([]byte{1}, n)}
		var names []string
		for i := range n {
			g.tensors = append(g.tensors, gTensor{offset: uint64(i), size: 1, dtype: 2})
			names = append(names, fmt.Sprintf(`"w%d"`, i))
		}
		g.metadata = `{"tensor_names":[` + strings.Join(names, ",") + `]}`
		file := g.build()
		if f := mustOpen(t, file, nil); f.Len() != n {
			t.Fatalf("%d tensors", f.Len())
		}
		got := testing.AllocsPerRun(10, func() {
			f, err := OpenBytes(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		})
		if got > 32 {
			t.Errorf("%d tensors: %v allocations", n, got)
		}
	}
}
