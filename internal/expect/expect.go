// Package expect has the checks that most tests make.
package expect

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// OK ends the test on an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	OK(t, err)
	return b
}

// Got returns the result of f, and ends the test on an error: Got(t, m.Metadata).
func Got[T any](t testing.TB, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	OK(t, err)
	return v
}

// Equal fails the test if got differs from want.
func Equal(t testing.TB, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Refused returns a check of the error of a call: Refused(t, want, "what")(call()), or with (nil,
// call()) of one that returns only an error.
func Refused(t testing.TB, want error, what ...any) func(result any, err error) {
	t.Helper()
	return func(_ any, err error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v %v", err, want, what)
		}
	}
}

// Says demands that a call fails with an error that wraps want and has a text in its message. It is
// called with the results: Says(t, want, text)(f()).
func Says(t testing.TB, want error, text string) func(result any, err error) {
	t.Helper()
	return func(_ any, err error) {
		t.Helper()
		if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %v with %q", err, want, text)
		}
	}
}

// Must returns v, and panics on an error: Must(format.ByName("mag")).
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
