package load

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weightmap/weightmap/tensor"
)

// TestExplain: format and path are added where they are missing, in a copy.
func TestExplain(t *testing.T) {
	if err := Explain(nil, "f", "p"); err != nil {
		t.Errorf("nil became %v", err)
	}
	bare := &tensor.Error{Offset: 3, Err: errMine}
	whole := &tensor.Error{Format: "g", Path: "q", Offset: -1, Err: errMine}
	for _, tt := range []struct {
		in   error
		want string
	}{
		{errMine, "f: p: mine"},
		{bare, "f: p: at 0x3: mine"},
		{whole, "g: q: mine"},
		{&tensor.Error{Format: "g", Offset: -1, Err: errMine}, "g: p: mine"},
		{&tensor.Error{Path: "q", Offset: -1, Err: errMine}, "f: q: mine"},
		{fmt.Errorf("around: %w", whole), "around: g: q: mine"},
		{fmt.Errorf("around: %w", bare), "f: p: at 0x3: around: at 0x3: mine"},
	} {
		before := *bare
		got := Explain(tt.in, "f", "p")
		if got.Error() != tt.want || !errors.Is(got, errMine) {
			t.Errorf("%q, want %q", got, tt.want)
		}
		if *bare != before {
			t.Fatal("the error was changed")
		}
		if again := Explain(got, "f", "p"); again != got {
			t.Errorf("explained twice: %v, then %v", got, again)
		}
	}
}

// uncomparable is an error that == must not see.
type uncomparable []string

func (uncomparable) Error() string { return "uncomparable" }

func TestExplainTensor(t *testing.T) {
	info := &tensor.Info{Name: "w", Offset: 5}
	for _, err := range []error{errMine, uncomparable{"a"}} {
		got := explainTensor(info, err, "f", "p")
		if want := fmt.Sprintf(`f: p: at 0x5: tensor "w": %v`, err); got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
		if again := explainTensor(info, got, "f", "p"); again != got {
			t.Errorf("explained twice: %v", again)
		}
	}
	if err := explainTensor(info, nil, "f", "p"); err != nil {
		t.Error(err)
	}
}
