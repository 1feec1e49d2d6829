package cause

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// other is an error that says it is a PathError, when asked.
type other struct{ path *fs.PathError }

func (o other) Error() string { return "other" }

func (o other) As(target any) bool {
	p, ok := target.(**fs.PathError)
	if ok {
		*p = o.path
	}
	return ok
}

// TestOf: Of finds what errors.As finds.
func TestOf(t *testing.T) {
	one, two := &fs.PathError{Op: "one", Err: syscall.ENOENT}, &fs.PathError{Op: "two", Err: errors.New("two")}
	for _, test := range []struct {
		name string
		err  error
	}{
		{"nothing", nil},
		{"none", errors.New("none")},
		{"itself", one},
		{"wrapped", fmt.Errorf("once: %w", fmt.Errorf("twice: %w", one))},
		{"the first of two", errors.Join(nil, errors.New("none"), fmt.Errorf("a: %w", two), one)},
		{"in the second", fmt.Errorf("%w and %w", errors.New("none"), errors.Join(errors.New("none"), one))},
		{"by its method", fmt.Errorf("asked: %w", other{two})},
		{"a join of none", errors.Join(errors.New("none"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			compare[*fs.PathError](t, test.err)
			compare[syscall.Errno](t, test.err)
			compare[other](t, test.err)
			compare[interface {
				error
				Timeout() bool
			}](t, test.err)
		})
	}
}

func compare[E error](t *testing.T, err error) {
	t.Helper()
	var want E
	ok := errors.As(err, &want)
	if got, found := Of[E](err); found != ok || any(got) != any(want) {
		t.Errorf("%T: %v, %v; errors.As: %v, %v", want, got, found, want, ok)
	}
}
