package main

import (
	"go/parser"
	"go/token"
	"os/exec"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestFormat: in package format arrows between files run down only.
func TestFormat(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command lists the files: ", err)
	}
	t.Chdir("../..")
	c, err := load("./format")
	expect.OK(t, err)
	uses := arrowsOf(c)
	if len(uses) < 50 || len(uses["opening.go"]) < 10 {
		t.Fatalf("only %d files and %v", len(uses), uses["opening.go"])
	}
	_, circle := order(uses)
	if circle != nil {
		t.Errorf("these files use each other in a circle: %v\ngo run ./internal/arrows shows what each uses when it is mended", circle)
	}
}

// TestCircle: a circle is found, whether it is by a function, a method, a field or a type.
func TestCircle(t *testing.T) {
	const low = "package p\n\ntype T struct{ field int }\n\nfunc (T) method() {}\n\nfunc f() {}\n"
	for name, test := range map[string]struct {
		low, high string
		circle    []string
	}{
		"none":     {low, "package p\n\nfunc g() { f(); T{}.method() }\n", nil},
		"function": {low + "func h() { g() }\n", "package p\n\nfunc g() { f() }\n", []string{"high.go", "low.go"}},
		"method":   {low + "func h() { g() }\n", "package p\n\nfunc g() { T{}.method() }\n", []string{"high.go", "low.go"}},
		"field":    {low + "func h() { g() }\n", "package p\n\nfunc g() { _ = T{}.field }\n", []string{"high.go", "low.go"}},
		"type":     {low + "type U struct{ g G }\n", "package p\n\ntype G struct{ t *T }\n", []string{"high.go", "low.go"}},
		"generic":  {"package p\n\ntype L[E any] struct{ x E }\n\nfunc h() { g() }\n", "package p\n\nfunc g() { _ = L[int]{}.x }\n", []string{"high.go", "low.go"}},
	} {
		c := &checked{set: token.NewFileSet()}
		for file, text := range map[string]string{"low.go": test.low, "high.go": test.high} {
			f, err := parser.ParseFile(c.set, file, text, parser.SkipObjectResolution)
			expect.OK(t, err)
			c.files = append(c.files, f)
		}
		expect.OK(t, c.check(nil))
		uses := arrowsOf(c)
		_, circle := order(uses)
		if len(circle) != len(test.circle) {
			t.Errorf("%s: %v, want %v", name, circle, test.circle)
		}
	}
}

// TestOrder: a file is above all that it uses.
func TestOrder(t *testing.T) {
	levels, circle := order(map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": nil, "d": nil})
	expect.Equal(t, [][]string{{"c", "d"}, {"b"}, {"a"}}, levels)
	expect.Equal(t, []string(nil), circle)
}
