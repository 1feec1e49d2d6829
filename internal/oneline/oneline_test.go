package oneline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStruct(t *testing.T) {
	long := strings.Repeat("é", 500)
	for _, tt := range []struct{ name, got, want string }{
		{"zero values", Struct("T", "A", 0, "B", "", "C", false, "D", nil, "E", []string{}, "F", Secret(false)), "T{}"},
		{"values", Struct("T", "A", 5, "B", "x\n", "C", true, "E", []string{"a", "b"}, "F", Secret(true)), `T{A: 5, B: "x\n", C: true, E: ["a" "b"], F: (hidden)}`},
		{"long text", Text(long), `"` + strings.Repeat("é", 30) + `..."`},
		{"long list", List(strings.Fields(strings.Repeat("name ", 1000)), Text), "[" + strings.Repeat(`"name" `, 27) + `"name" and 972 more]`},
		{"long element", List([]string{long}, func(s string) string { return s }), "[" + strings.Repeat("é", 100) + "...]"},
		{"counts", Count(0, "tensor") + Count(1, "tensor") + Count(2, "tensor"), "1 tensor2 tensors"},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if got := Struct(long, "A", long); len(got) > mostLine+3 {
		t.Errorf("%d bytes", len(got))
	}
}
