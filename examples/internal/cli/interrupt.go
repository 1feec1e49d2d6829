package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Target is a file that a command writes, and what was there before.
type Target struct {
	path string
	old  os.FileInfo // nil for nothing
}

// NewTarget looks at what is at path.
func NewTarget(path string) *Target {
	old, _ := os.Stat(path)
	return &Target{path, old}
}

// Ended has an error say what became of the file when somebody interrupted writing it. It is deferred.
func (t *Target) Ended(err *error) {
	if !errors.Is(*err, context.Canceled) {
		return
	}
	now, _ := os.Stat(t.path)
	if now == nil || t.old != nil && os.SameFile(t.old, now) {
		*err = interruption("interrupted: " + t.path + " was not written")
		return
	}
	*err = interruption("interrupted: " + t.path + " was written, but not verified")
}

// interruption says what became of a file.
type interruption string

func (i interruption) Error() string { return string(i) }

func (interruption) Is(target error) bool { return target == context.Canceled }

// Main runs a program and exits with the status that it returns. An interrupt ends the
// context, so that what is half written is removed; a second one ends the program at once.
func Main(run func(ctx context.Context, args []string, out, errs io.Writer) int) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(Interrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Await returns what f returns, or stops waiting when ctx ends: reading standard input or
// a pipe cannot be stopped.
func Await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := f()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
