package modelfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

func TestMatching(t *testing.T) {
	names := []string{"a.w", "a.b", "c/w", "new\nline"}
	for _, tt := range []struct {
		only, skip, want []string
	}{
		{nil, nil, names},
		{[]string{"*.w"}, nil, []string{"a.w"}},
		{[]string{"*w", "a?b"}, nil, []string{"a.w", "a.b", "c/w"}},
		{[]string{"*"}, []string{"a.*"}, []string{"c/w", "new\nline"}},
		{nil, []string{"n*e"}, []string{"a.w", "a.b", "c/w"}},
		{[]string{"w"}, nil, nil},
		{[]string{"*\xff"}, nil, nil},
		{nil, []string{"\xff*"}, names},
	} {
		keep := Matching(tt.only, tt.skip)
		var got []string
		for _, s := range names {
			if keep(tensor.Info{Name: s}) {
				got = append(got, s)
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%q without %q: %s", tt.only, tt.skip, d)
		}
	}
}

func TestRenames(t *testing.T) {
	rename, err := Renaming("model.*=*", "*.gamma.*=*.weight.*", "b?=x", "a=b=c")
	expect.OK(t, err)
	for from, want := range map[string]string{
		"model.a.gamma": "a.gamma", "ln.gamma.0": "ln.weight.0", "b1": "x", "bb1": "bb1", "a": "b=c", "model": "model", "x.model.a": "x.model.a",
	} {
		if got := rename(from); got != want {
			t.Errorf("%q became %q, want %q", from, got, want)
		}
	}
	for _, bad := range []string{"", "a", "=b", "a=", "a=*", "*=**", "*\xff=*"} {
		expect.Refused(t, format.ErrOption, bad)(Renaming(bad))
	}
}
