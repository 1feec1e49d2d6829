package mle

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkCopies compares the operands of each node of a file with those in its copies in
// either version.
func checkCopies(t *testing.T, f *File) {
	t.Helper()
	for _, version := range []int{1, 2} {
		for _, withIR := range []bool{false, true} {
			b, err := rewritten(t, f, version, withIR)
			if err != nil {
				t.Errorf("version %d, IR %v: %v", version, withIR, err)
				continue
			}
			again := mustOpen(t, b, nil)
			if diff := cmp.Diff(nodeOperands(f), nodeOperands(again), equateEmpty); diff != "" {
				t.Errorf("version %d, IR %v: %s", version, withIR, diff)
			}
		}
	}
}

// operands has the inputs, params and outputs of a node.
type operands struct {
	Op                      string
	Inputs, Params, Outputs []string
}

func nodeOperands(f *File) (all []operands) {
	names := newNamer(f.f)
	for _, n := range f.IR().Nodes {
		all = append(all, operands{n.Op.String(), names.list(n.Inputs, nil), names.list(n.Params, nil), names.list(n.Outputs, nil)})
	}
	return all
}

// TestInteropCopies checks that nodes of files from other exporters have the same
// operands after a copy and after conversion, and that copies preserve their ids.
func TestInteropCopies(t *testing.T) {
	for _, path := range interopFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			checkCopies(t, f)
			b, err := rewritten(t, f, 2, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(f.IR().Nodes, mustOpen(t, b, nil).IR().Nodes, equateEmpty); diff != "" {
				t.Error(diff)
			}
		})
	}
}
